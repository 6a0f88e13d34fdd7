"""Test where compiled code is kept."""

import os
import tempfile
from pathlib import Path

import pytest

from fugu.operators.compiled import folders


@pytest.fixture(autouse=True)
def _asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("FUGU_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    folders._folders.cache_clear()
    folders._is_writable.cache_clear()


def test_a_user_whom_the_machine_does_not_know_has_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 54_321)
    with pytest.raises(RuntimeError):
        Path.home()
    [folder] = folders.folders()
    folders._folders.cache_clear()
    assert folder.parent.name == "__pycache__"


def test_named_folders_stand_alone_and_in_order(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FUGU_CACHE_DIR", f"{tmp_path / 'a'}:{tmp_path / 'b'}")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "c"))
    assert [folder.parent.name for folder in folders.folders()] == ["a", "b", "c"]
    assert "compiling for this machine, once" in folders.described()
    assert str(tmp_path / "a") in folders.described()


def test_a_folder_that_nothing_can_be_written_to_is_said_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FUGU_CACHE_DIR", str(tmp_path / "file"))
    assert folders.kept_in() is None
    assert "can be kept nowhere" in folders.described()
    assert "set FUGU_CACHE_DIR" in folders.described()


def test_temporary_files_hold_code_only_in_a_folder_of_this_user_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    [own] = folders._own_temporary()
    assert own.stat().st_mode & 0o777 == 0o700
    own.chmod(0o770)
    assert folders._own_temporary() == []
    own.rmdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    own.symlink_to(elsewhere)
    assert folders._own_temporary() == []
