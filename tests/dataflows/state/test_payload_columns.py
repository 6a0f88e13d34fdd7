"""States that hold payloads: bytes that come back equal, None as None, and only changed rows."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.state.row_block import Body, column_bytes, described
from fugu.dataflows.state.row_log import RowLog, log_files
from fugu.dataflows.state.row_sizes import estimated_megabytes
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Array, State
from fugu.operators.temporal.threshold import ThresholdPerturbation

THRESHOLD = ThresholdPerturbation(k=6, c0=3)
KEYS = [b"user-%04d" % number for number in range(500)]
PAYLOADS = st.one_of(st.none(), st.binary(max_size=40), st.just(b""), st.just(b"ends with 0\0\0"))


def column_of(cells: list[bytes | None]) -> Array:
    column = np.full(len(cells), None, dtype=object)
    for number, cell in enumerate(cells):
        column[number] = cell
    return column


@given(st.lists(PAYLOADS, max_size=30), st.integers(1, 3))
def test_payloads_come_back_from_their_bytes(cells: list[bytes | None], width: int) -> None:
    rows = len(cells) // width
    state: State = {
        "before": np.arange(rows),
        "slots": column_of(cells[: rows * width]).reshape(rows, width),
        "after": np.arange(rows) % 2 == 0,
    }
    content = b"".join(column_bytes(state))
    columns = Body(memoryview(content), 0).take_columns(state, rows)
    for name, column in state.items():
        assert columns[name].dtype == column.dtype
        assert columns[name].shape == column.shape
        assert columns[name].tolist() == column.tolist()
        assert columns[name].flags.writeable


def test_nothing_and_an_empty_payload_have_different_bytes() -> None:
    encoded = {b"".join(column_bytes({"": column_of([cell])})) for cell in (None, b"", b"\0")}
    assert len(encoded) == 3


def test_numbers_are_written_as_ever() -> None:
    """Columns without payloads have the bytes and the description that they always had."""
    state: State = {"a": np.array([1, -2]), "b": np.array([[0.5, 2.0], [1.0, 3.0]])}
    assert column_bytes(state) == [state["a"].astype("<i8").tobytes(), state["b"].tobytes()]
    assert described(state)["a"] == {"dtype": "<i8", "shape": []}
    assert described({"c": column_of([b"x"])}) == {"c": {"dtype": "changed payloads", "shape": []}}


def dispatched(table: RowTable, keys: list[bytes], tick: int) -> None:
    """Every key gets a payload of its own."""
    rows = table.rows_of(keys)
    state = table.gather(rows)
    for number, key in enumerate(keys):
        state["slots"][number, tick % 6] = b"%s at tick %d" % (key, tick) if tick % 4 else None
        state["occupied"][number, tick % 6] = True
    state["tick"] += 1
    table.scatter(rows, state)


def contents(table: RowTable) -> dict[str, list[object]]:
    return {name: column.tolist() for name, column in table.gather(np.arange(len(table))).items()}


def restored_from(*blocks: bytes) -> RowTable:
    table = RowTable(THRESHOLD.start)
    for block in blocks:
        table.apply(block)
    return table


def test_a_table_with_payloads_comes_back_and_goes_on() -> None:
    table, blocks = RowTable(THRESHOLD.start), []
    for tick in range(9):
        dispatched(table, KEYS[: 40 + 20 * tick], tick)
        blocks.append(table.take_changes())
    restored = restored_from(*blocks)
    assert contents(restored) == contents(table)
    for each in (table, restored):
        dispatched(each, KEYS[10:300], 9)
    assert table.take_everything() == restored.take_everything()


def test_a_payload_is_written_once() -> None:
    table = RowTable(THRESHOLD.start)
    for tick in (1, 2, 3):
        dispatched(table, KEYS, tick)
        block = table.take_changes()
        assert [t for t in range(4) if block.count(b"at tick %d" % t)] == [tick]
        assert block.count(b"at tick") == len(KEYS)
    restored = restored_from(table.take_everything())
    for each in (table, restored):
        dispatched(each, KEYS[:10], 4)
    assert table.take_changes() == restored.take_changes()


def test_gathered_payloads_are_not_those_of_the_table() -> None:
    table = RowTable(THRESHOLD.start)
    dispatched(table, KEYS[:3], 1)
    before = contents(table)
    table.gather(np.arange(3))["slots"][:] = b"other"
    assert contents(table) == before


def test_damage_to_a_block_with_payloads_is_detected_wherever_it_is() -> None:
    table = RowTable(THRESHOLD.start)
    dispatched(table, KEYS[:2], 1)
    block = table.take_everything()
    for at in range(len(block)):
        damaged = block[:at] + bytes([block[at] ^ 1]) + block[at + 1 :]
        with pytest.raises(StartRefused, match=r"damaged.*backup"):
            restored_from(damaged)


def test_a_state_with_payloads_is_not_taken_for_one_without() -> None:
    def numbers(rows: int) -> State:
        return {**THRESHOLD.start(rows), "slots": np.zeros((rows, 6), dtype=np.int64)}

    table = RowTable(THRESHOLD.start)
    dispatched(table, KEYS[:2], 1)
    with pytest.raises(StartRefused, match="another operator"):
        RowTable(numbers).apply(table.take_everything())


def test_a_row_log_with_payloads_writes_changed_rows_only(tmp_path: Path) -> None:
    log = RowLog(tmp_path, 3, THRESHOLD.start)
    pointers, history = [], []
    for tick, count in enumerate((500, 10, 200, 1)):
        dispatched(log.table, KEYS[:count], tick)
        before = sum(path.stat().st_size for path in log_files(tmp_path, 3))
        pointers.append(log.append())
        grown = sum(path.stat().st_size for path in log_files(tmp_path, 3)) - before
        assert grown < 1000 + count * 250
        history.append(contents(log.table))
    for pointer, expected in reversed(list(zip(pointers, history, strict=True))):
        loaded = RowLog(tmp_path, 3, THRESHOLD.start)
        loaded.load(pointer)
        assert contents(loaded.table) == expected


def test_a_damaged_log_with_payloads_is_refused(tmp_path: Path) -> None:
    log = RowLog(tmp_path, 3, THRESHOLD.start)
    dispatched(log.table, KEYS[:5], 1)
    pointer = log.append()
    [path] = log_files(tmp_path, 3)
    content = bytearray(path.read_bytes())
    content[content.index(b"at tick")] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(StartRefused, match="damaged"):
        RowLog(tmp_path, 3, THRESHOLD.start).load(pointer)


def test_the_memory_of_payloads_is_estimated_and_their_length_never_shows() -> None:
    table = RowTable(THRESHOLD.start)
    empty = table.bytes_per_row
    assert empty == 6 * 8 + 6 + 3 * 8
    dispatched(table, KEYS[:5], 1)
    assert table.bytes_per_row == empty
    small = estimated_megabytes(THRESHOLD.start, 1000, bytes_per_payload=100)
    large = estimated_megabytes(THRESHOLD.start, 1000, bytes_per_payload=1100)
    assert large - small == pytest.approx(6.0)
