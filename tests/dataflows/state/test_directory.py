"""A state directory belongs to one pipeline and one process, and is readable by its owner only."""

import errno
import fcntl
import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.state.directory import MOVED, MovedDirectory, StateDirectory
from tests.dataflows.state.fingerprints import FINGERPRINT

HOLDER = """
import sys
from pathlib import Path
from fugu.dataflows.state.directory import StateDirectory
StateDirectory(Path(sys.argv[1])).lock()
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def created(path: Path) -> StateDirectory:
    directory = StateDirectory(path)
    directory.lock()
    directory.create(FINGERPRINT)
    return directory


def test_what_was_stored_comes_back(tmp_path: Path) -> None:
    created(tmp_path / "state").unlock()
    assert StateDirectory(tmp_path / "state").stored() == FINGERPRINT


def test_a_new_directory_holds_no_state(tmp_path: Path) -> None:
    assert StateDirectory(tmp_path / "state").stored() is None


@pytest.mark.usefixtures("open_umask")
def test_everything_is_readable_by_the_owner_only(tmp_path: Path) -> None:
    created(tmp_path / "state").unlock()
    modes = {
        path.relative_to(tmp_path).as_posix(): stat.S_IMODE(path.stat().st_mode)
        for path in tmp_path.rglob("*")
        if path.parent.name != "recovery"
    }
    assert modes == {
        "state": 0o700,
        "state/lock": 0o600,
        "state/fingerprint.json": 0o600,
        "state/stopped.json": 0o600,
        "state/recovery": 0o700,
        "state/rows": 0o700,
    }


def test_a_directory_in_use_by_another_process_is_refused_until_that_ends(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        with pytest.raises(StartRefused, match=r"in use by another process. Stop it first"):
            StateDirectory(tmp_path).lock()
        holder.kill()
    StateDirectory(tmp_path).lock()


def test_a_look_at_the_same_moment_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    created(tmp_path).unlock()
    looking = os.open(tmp_path / "lock", os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    monkeypatch.setattr(time, "sleep", lambda _: fcntl.flock(looking, fcntl.LOCK_UN))
    directory = StateDirectory(tmp_path)
    directory.lock()
    assert directory.is_in_use
    os.close(looking)


def test_a_file_system_without_locks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    created(tmp_path).unlock()

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(StartRefused, match="takes no locks"):
        StateDirectory(tmp_path).lock()
    with pytest.raises(StartRefused, match="takes no locks"):
        _ = StateDirectory(tmp_path).is_in_use


def test_unlocking_lets_the_next_owner_in(tmp_path: Path) -> None:
    first = StateDirectory(tmp_path)
    first.lock()
    first.unlock()
    StateDirectory(tmp_path).lock()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": 3}', b"\xff\x00"])
def test_a_damaged_fingerprint_is_refused(content: bytes, tmp_path: Path) -> None:
    created(tmp_path).unlock()
    (tmp_path / "fingerprint.json").write_bytes(content)
    with pytest.raises(StartRefused, match=r"damaged.*backup"):
        StateDirectory(tmp_path).stored()


@pytest.mark.parametrize("found", [1, 2, 4])
def test_a_fingerprint_of_another_format_is_refused(found: int, tmp_path: Path) -> None:
    created(tmp_path).unlock()
    path = tmp_path / "fingerprint.json"
    path.write_bytes(path.read_bytes().replace(b'"format": 3', b'"format": %d' % found))
    refusal = rf"has format {found}: another version .* reads format 3 alone.*Run the version"
    with pytest.raises(StartRefused, match=refusal):
        StateDirectory(tmp_path).stored()


def test_a_missing_recovery_store_is_refused(tmp_path: Path) -> None:
    created(tmp_path).unlock()
    for part in (tmp_path / "recovery").iterdir():
        part.unlink()
    with pytest.raises(StartRefused, match="recovery is missing although the pipeline ran before"):
        StateDirectory(tmp_path).stored()


def test_a_missing_fingerprint_beside_a_recovery_store_is_refused(tmp_path: Path) -> None:
    created(tmp_path).unlock()
    (tmp_path / "fingerprint.json").unlink()
    with pytest.raises(StartRefused, match=r"fingerprint.json is missing although"):
        StateDirectory(tmp_path).stored()


def test_a_creation_that_was_cut_short_begins_again(tmp_path: Path) -> None:
    (tmp_path / "recovery").mkdir()
    (tmp_path / "recovery" / "part-0.sqlite3").write_bytes(b"half")
    (tmp_path / "fingerprint.json.new").write_bytes(b"half")
    assert StateDirectory(tmp_path).stored() is None
    created(tmp_path).unlock()
    assert StateDirectory(tmp_path).stored() == FINGERPRINT
    assert (tmp_path / "recovery" / "part-0.sqlite3").read_bytes() != b"half"


def test_finishing_begins_at_a_graceful_stop_and_is_repeated_alike_until_it_ends(
    tmp_path: Path,
) -> None:
    directory = StateDirectory(tmp_path)
    directory.note_start(finishing=None)
    with pytest.raises(StartRefused, match="needs a graceful stop before"):
        directory.note_start(finishing="drain")
    directory.note_stop({0: 7})
    directory.note_start(finishing="drain")
    with pytest.raises(StartRefused, match="with another operator"):
        directory.note_start(finishing="discard")
    with pytest.raises(StartRefused, match="with --finish once more"):
        directory.note_start(finishing=None)
    directory.note_start(finishing="drain")
    directory.note_stop({0: 7})
    directory.note_start(finishing=None)


def test_a_path_that_cannot_be_a_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "state"):
        with pytest.raises(StartRefused, match=f"state directory {path} cannot be used"):
            StateDirectory(path).lock()


def test_a_state_that_is_being_moved_is_owned_by_the_move_alone(tmp_path: Path) -> None:
    (tmp_path / MOVED).write_bytes(b"{}")
    path = tmp_path / "shard-0000"
    with pytest.raises(StartRefused, match="run it once more"):
        StateDirectory(path).lock()
    moved = MovedDirectory(path)
    moved.lock()
    moved.unlock()
