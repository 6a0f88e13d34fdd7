"""Test how compiled steps are compiled."""

import ast
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryFile
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from fugu.operators import compiled
from fugu.operators.mechanism import Floats

pytestmark = pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")

COMPILED = re.compile("^@(entry_point|part|inlined|in_llvm)$", re.MULTILINE)


def test_the_cache_knows_every_file_with_compiled_code() -> None:
    from fugu.operators.compiled import folders

    package = Path(folders.__file__).parents[2]
    known = {path.resolve() for path in folders.sources()}
    compiled_files = {
        path.resolve()
        for top in ("operators", "dataflows")
        for path in (package / top).rglob("*.py")
        if COMPILED.search(path.read_text())
    }
    assert compiled_files
    assert compiled_files <= known


def test_the_cache_knows_every_file_with_a_number_that_is_compiled_in() -> None:
    from fugu.operators.compiled import folders

    known = {path.resolve() for path in folders.sources()}
    for path in known:
        for line in ast.parse(path.read_text()).body:
            if isinstance(line, ast.ImportFrom) and (line.module or "").startswith("fugu."):
                module = import_module(line.module or "")
                numbers = [one.name for one in line.names if is_number(module, one.name)]
                assert not numbers or Path(module.__file__ or "").resolve() in known, line.module


def is_number(module: ModuleType, name: str) -> bool:
    return isinstance(getattr(module, name, None), int | float | np.ndarray | np.generic)


def test_compiled_code_counts_no_rows_of_tables() -> None:
    from fugu.operators.compiled.compiling import part

    def total(row: Floats) -> float:
        added = 0.0
        for number in row:
            added += number
        return added

    total_of = part(total)

    def totals(table: Floats, sums: Floats) -> None:
        for number in range(len(table)):
            sums[number] = total_of(table[number])

    totals_of: Any = part(totals)
    sums = np.zeros(3)
    totals_of(np.arange(6.0).reshape(3, 2), sums)
    assert sums.tolist() == [1.0, 5.0, 9.0]
    [machine_code] = totals_of.inspect_asm().values()
    assert "NRT_" not in machine_code


def add_one(number: int) -> int:
    return number + 1


def test_a_cache_whose_files_are_damaged_is_made_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from fugu.operators.compiled import compiling

    monkeypatch.setenv("FUGU_CACHE_DIR", str(tmp_path))
    assert compiling.entry_point(add_one)(6) == 7
    for ending in ("*.nbi", "*.nbc"):
        [file] = tmp_path.rglob(ending)
        file.write_bytes(b"")
        assert compiling.entry_point(add_one)(6) == 7
        again: Any = compiling.entry_point(add_one)
        assert again(6) == 7
        assert again.stats.cache_hits


def test_a_cache_that_cannot_be_written_to_any_more_is_done_without(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from fugu.operators.compiled import compiling

    monkeypatch.setenv("FUGU_CACHE_DIR", str(tmp_path))
    compiled_function: Any = compiling.entry_point(add_one)
    [folder] = tmp_path.iterdir()
    rmtree(folder)
    folder.touch()
    assert compiled_function(6) == 7


def test_code_is_read_from_a_folder_that_cannot_be_written_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from fugu.operators.compiled import compiling, folders

    image, own = tmp_path / "image", tmp_path / "own"
    monkeypatch.setenv("FUGU_CACHE_DIR", str(image))
    assert compiling.entry_point(add_one)(6) == 7
    before = contents(image)
    assert before

    monkeypatch.setenv("FUGU_CACHE_DIR", f"{image}{os.pathsep}{own}")
    folders._is_writable.cache_clear()
    with only_readable(image, monkeypatch):
        again: Any = compiling.entry_point(add_one)
        assert again(6) == 7
        assert again.stats.cache_hits
        assert folders.described().startswith(f"kept in {folders.folders()[0]};")
        assert again(6.5) == 7.5  # what the image has not is kept elsewhere
    assert contents(image) == before
    assert contents(own)


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextmanager
def only_readable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuse to write temporary files below a folder, as a folder of somebody else does.

    Tests may run as root, who may write everywhere.
    """
    from fugu.operators.compiled import folders

    def temporary(*, dir: Path) -> Any:
        if dir.is_relative_to(folder):
            raise PermissionError
        return TemporaryFile(dir=dir)

    with monkeypatch.context() as patched:
        patched.setattr(folders, "TemporaryFile", temporary)
        yield
    folders._is_writable.cache_clear()
