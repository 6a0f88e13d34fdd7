"""A look at a state directory says what a start would say of it, and changes nothing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EACCES, ENOSPC
from pathlib import Path

import pytest

from fugu.dataflows.base.errors import FuguError, StartRefused, exit_code
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.looking_directory import LookingDirectory
from tests.dataflows.state.fingerprints import FINGERPRINT

NOBODY = 65534
BOTH = (LookingDirectory, StateDirectory)


def begun(path: Path) -> Path:
    directory = StateDirectory(path)
    directory.lock()
    directory.create(FINGERPRINT)
    directory.unlock()
    return path


def refused(kind: type[StateDirectory], path: Path) -> FuguError:
    with pytest.raises(FuguError) as refusal:
        kind(path).lock()
    return refusal.value


@contextmanager
def without_privileges() -> Iterator[None]:
    """Be nobody, where tests are run by root, who may write everywhere."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.fixture
def reached(tmp_path: Path) -> Path:
    """A folder to which everybody may come."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == tmp_path.owner() and not folder.stat().st_mode & 0o001:
            folder.chmod(0o711)
    return tmp_path


def test_a_directory_that_is_there_or_can_be_made_is_not_refused(tmp_path: Path) -> None:
    begun(tmp_path / "state")
    before = set(tmp_path.rglob("*"))
    LookingDirectory(tmp_path / "state").lock()
    LookingDirectory(tmp_path / "a" / "new" / "state").lock()
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("path", ["file", "file/state", "file/a/state"])
def test_a_file_in_the_place_of_a_directory(path: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    looked, started = (refused(kind, tmp_path / path) for kind in BOTH)
    assert str(looked) == str(started)
    assert exit_code(looked) == exit_code(started) == 78


@pytest.mark.parametrize("mode", [0o555, 0o000])
@pytest.mark.parametrize("is_there", [False, True])
def test_a_directory_that_may_not_be_written(is_there: bool, mode: int, reached: Path) -> None:
    path = reached / "folder" / "state"
    path.parent.mkdir()
    if is_there:
        begun(path)
        (path / "lock").chmod(0o444)
        path.chmod(0o555)
    path.parent.chmod(mode)
    with without_privileges():
        looked, started = (refused(kind, path) for kind in BOTH)
    path.parent.chmod(0o755)
    assert str(looked) == str(started)
    assert f"cannot be used ({os.strerror(EACCES)})" in str(looked)


@pytest.mark.parametrize("part", ["recovery", "rows", "recovery/part-0.sqlite3", "stopped.json"])
def test_a_part_that_may_not_be_written_is_found(part: str, reached: Path) -> None:
    """A start would meet it later, when it has claimed the state."""
    path = begun(reached / "state")
    for one in (path, *path.rglob("*")):
        one.chmod(0o777)
    (path / part).chmod(0o555)
    with without_privileges(), pytest.raises(StartRefused, match=os.strerror(EACCES)):
        LookingDirectory(path).lock()


@pytest.mark.parametrize("used_up", ["f_bavail", "f_favail"])
def test_a_disk_without_room_may_have_some_at_the_next_start(
    used_up: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file system can be filled up without privileges; the numbers are those of a full one."""
    real = os.statvfs(tmp_path)
    names = ("f_bavail", "f_bfree", "f_favail", "f_ffree", "f_blocks", "f_files", "f_flag")
    full = {name: getattr(real, name) for name in names} | {"f_blocks": 9, "f_files": 9}
    full |= {used_up: 0, used_up.replace("bavail", "bfree").replace("favail", "ffree"): 0}
    monkeypatch.setattr(os, "statvfs", lambda _: type("Disk", (), full))
    looked = refused(LookingDirectory, tmp_path / "state")
    assert os.strerror(ENOSPC) in str(looked)
    assert "Make room" in str(looked)
    assert exit_code(looked) == 1
