"""A row log continues exactly where a pointer says, whatever a crash left behind it."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from fugu.dataflows.base.errors import FuguError, StartRefused
from fugu.dataflows.state.row_log import (
    RowLog,
    generation_of,
    log_files,
    partition_of,
    require_whole,
    resumed_blocks,
)
from tests.dataflows.stages.columns import CRR

KEYS = [b"user-%05d" % number for number in range(2000)]


def new_log(directory: Path) -> RowLog:
    return RowLog(directory, 3, CRR.start)


def touch(log: RowLog, keys: list[bytes]) -> None:
    rows = np.unique(log.table.rows_of(keys))
    state = log.table.gather(rows)
    state["releases"] = state["releases"] + 1
    log.table.scatter(rows, state)


def releases(log: RowLog) -> list[int]:
    counts: list[int] = log.table.gather(np.arange(len(log.table)))["releases"].tolist()
    return counts


def loaded(directory: Path, pointer: bytes) -> RowLog:
    log = new_log(directory)
    log.load(pointer)
    return log


def test_every_pointer_gives_the_table_as_it_was(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    history = []
    for count in (3, 10, 5):
        touch(log, KEYS[:count])
        history.append((log.append(), releases(log)))
    for pointer, before in reversed(history):
        assert releases(loaded(tmp_path, pointer)) == before
    assert partition_of(history[0][0]) == 3


def test_only_changed_rows_are_written(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    touch(log, KEYS)
    log.append()
    size = log_files(tmp_path, 3)[0].stat().st_size
    touch(log, KEYS[:10])
    log.append()
    assert log_files(tmp_path, 3)[0].stat().st_size < size * 1.05


def test_what_a_crash_left_behind_a_pointer_is_cut_off(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    touch(log, KEYS[:3])
    pointer, before = log.append(), releases(log)
    path = log_files(tmp_path, 3)[0]
    path.write_bytes(path.read_bytes() + b"half a block")
    resumed = loaded(tmp_path, pointer)
    assert releases(resumed) == before
    touch(resumed, KEYS[:5])
    assert releases(loaded(tmp_path, resumed.append())) == [2, 2, 2, 1, 1]


def grown(log: RowLog, generations: int) -> list[tuple[bytes, list[int]]]:
    """Change everything until so many generations have begun."""
    history = []
    while not log_files(log.directory, 3) or (
        max(map(generation_of, log_files(log.directory, 3))) < generations
    ):
        touch(log, KEYS)
        history.append((log.append(), releases(log)))
        assert len(history) < 200
    return history


def test_a_log_that_has_grown_begins_a_new_generation_and_keeps_the_old_one_for_a_while(
    tmp_path: Path,
) -> None:
    log = new_log(tmp_path)
    history = grown(log, generations=2)
    assert [generation_of(path) for path in log_files(tmp_path, 3)] == [1, 2]
    for pointer, before in reversed(history[-3:]):
        assert releases(loaded(tmp_path, pointer)) == before


def test_an_old_generation_goes_once_no_snapshot_can_need_it(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    grown(log, generations=2)
    for _ in range(3):
        touch(log, KEYS[:1])
        pointer = log.append()
    assert [generation_of(path) for path in log_files(tmp_path, 3)] == [2]
    assert releases(loaded(tmp_path, pointer)) == releases(log)


def test_resuming_before_a_new_generation_writes_that_generation_again(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    history = grown(log, generations=2)
    pointer, before = history[-2]
    resumed = loaded(tmp_path, pointer)
    assert releases(resumed) == before
    again = grown_again(resumed)
    assert releases(loaded(tmp_path, again)) == releases(resumed)


def grown_again(log: RowLog) -> bytes:
    """Append until the pointer is in the second generation."""
    for _ in range(200):
        touch(log, KEYS)
        pointer = log.append()
        if b'"generation":2' in pointer:
            return pointer
    raise AssertionError("no new generation began")


def test_a_generation_that_no_pointer_knows_is_removed(tmp_path: Path) -> None:
    """A crash left it behind; whoever looks at the newest one must not find it."""
    log = new_log(tmp_path)
    history = grown(log, generations=2)
    loaded(tmp_path, history[-2][0])
    assert [generation_of(path) for path in log_files(tmp_path, 3)] == [1]


def test_a_shortened_or_missing_log_is_refused(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    touch(log, KEYS[:3])
    pointer = log.append()
    path = log_files(tmp_path, 3)[0]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StartRefused, match=r"missing or shorter .* backup"):
        new_log(tmp_path).load(pointer)
    path.unlink()
    with pytest.raises(StartRefused, match=r"missing or shorter .* backup"):
        new_log(tmp_path).load(pointer)


def test_a_damaged_block_is_refused(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    touch(log, KEYS[:3])
    pointer = log.append()
    path = log_files(tmp_path, 3)[0]
    content = bytearray(path.read_bytes())
    content[-40] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(StartRefused, match="damaged"):
        new_log(tmp_path).load(pointer)


@pytest.mark.parametrize("block", [0, 1])
@pytest.mark.parametrize("changed", [b"\xff", b"\x01"])
def test_a_damaged_length_of_a_block_is_refused_and_drops_no_rows(
    block: int, changed: bytes, tmp_path: Path
) -> None:
    """Rows that are passed over would begin again, with whole budgets."""
    log = new_log(tmp_path)
    touch(log, KEYS[:3])
    log.append()
    path = log_files(tmp_path, 3)[0]
    second = path.stat().st_size
    touch(log, KEYS[:10])
    pointer = log.append()
    content = bytearray(path.read_bytes())
    at = block * second + 3
    content[at : at + 1] = changed
    path.write_bytes(bytes(content))
    for read in (new_log(tmp_path).load, partial(require_whole, tmp_path)):
        with pytest.raises(StartRefused, match="damaged"):
            read(pointer)


@pytest.mark.parametrize("at", [3, -1])
def test_rows_that_were_carried_over_are_whole_or_refused(at: int, tmp_path: Path) -> None:
    """No pointer says how long their log is: all of it counts."""
    before = new_log(tmp_path / "before")
    touch(before, KEYS[:3])
    new_log(tmp_path).found(before.table)
    path = log_files(tmp_path, 3)[0]
    content = bytearray(path.read_bytes())
    if at > 0:
        content[at] = 0xFF
    path.write_bytes(bytes(content[:at] if at < 0 else content))
    with pytest.raises(StartRefused, match="damaged"):
        new_log(tmp_path).begin()
    with pytest.raises(StartRefused, match="damaged"):
        list(resumed_blocks(tmp_path, 3, None))


@pytest.mark.parametrize("pointer", [b"", b"{", b"[]", b"7", b'{"partition":3,"generation":1}'])
def test_a_damaged_pointer_is_refused(pointer: bytes, tmp_path: Path) -> None:
    for read in (new_log(tmp_path).load, partial(require_whole, tmp_path), partition_of):
        with pytest.raises(StartRefused, match="the recovery store is damaged"):
            read(pointer)


def test_a_directory_that_cannot_be_written_stops_with_its_name(tmp_path: Path) -> None:
    log = new_log(tmp_path / "gone")
    touch(log, KEYS[:1])
    with pytest.raises(FuguError, match=r"cannot be written under .*gone .*last snapshot"):
        log.append()


def test_log_files_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    touch(log, KEYS[:1])
    log.append()
    assert log_files(tmp_path, 3)[0].stat().st_mode & 0o777 == 0o600
