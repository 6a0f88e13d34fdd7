"""The state of a partition: rows that never move, bytes that come back equal or not at all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.records.deduplication import Deduplication
from fugu.dataflows.stages.per_record import row_columns
from fugu.dataflows.state import row_table
from fugu.dataflows.state.key_index import DictKeyIndex
from fugu.dataflows.state.row_table import RowTable
from fugu.operators import compiled
from fugu.operators.budget import Budgeted
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import MarkovModel
from tests.dataflows.stages.columns import CRR, batch_of, codec, lift, new_table

TWO_SYMBOLS = ConditionalRandomizedResponse(
    MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], 0.001), epsilon=1.0
)


def filled(keys: list[bytes]) -> RowTable:
    table = new_table()
    lift()(codec().decode(batch_of([(key, b'{"zone": "light"}') for key in keys])), table)
    return table


def restored_from(*blocks: bytes) -> RowTable:
    table = new_table()
    for block in blocks:
        table.apply(block)
    return table


def same(one: RowTable, other: RowTable, keys: list[bytes]) -> bool:
    rows = one.rows_of(keys)
    columns, others = one.gather(rows), other.gather(other.rows_of(keys))
    return columns.keys() == others.keys() and all(
        columns[name].tobytes() == others[name].tobytes() for name in columns
    )


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=20))
def test_a_table_comes_back_from_its_bytes(keys: list[bytes]) -> None:
    table = filled(keys)
    encoded = table.take_everything()
    restored = restored_from(encoded)
    assert len(restored) == len(set(keys))
    assert restored.take_everything() == encoded
    assert same(table, restored, keys)


def test_a_restored_table_goes_on_like_the_one_it_was() -> None:
    table = filled([b"alice", b"bob", b"alice"])
    restored = restored_from(table.take_everything())
    messages = [(b"bob", b'{"zone": "rest"}'), (b"eve", b'{"zone": "rest"}')]
    later, again = codec().decode(batch_of(messages)), codec().decode(batch_of(messages))
    first, second = lift()(later, table), lift()(again, restored)
    assert first.releases.values.tolist() == second.releases.values.tolist()
    assert table.take_everything() == restored.take_everything()


def test_rows_are_handed_out_in_order_of_appearance_and_never_move() -> None:
    table = new_table()
    assert table.rows_of([b"a", b"b", b"a"]).tolist() == [0, 1, 0]
    assert table.rows_of([b"c", b"b"]).tolist() == [2, 1]


def test_a_table_grows_without_touching_older_rows() -> None:
    keys = [b"%d" % number for number in range(1000)]
    table = filled(keys[:3])
    before = table.gather(table.rows_of(keys[:3]))
    table.rows_of(keys)
    after = table.gather(table.rows_of(keys[:3]))
    assert len(table) == 1000
    assert all(np.array_equal(before[name], after[name]) for name in before)
    fresh, start = table.gather(table.rows_of(keys[3:])), CRR.start(997)
    assert all(np.array_equal(fresh[name], start[name]) for name in start)


def test_gathered_rows_are_copies() -> None:
    table = filled([b"alice"])
    rows = table.rows_of([b"alice"])
    table.gather(rows)["spent"][:] = 0
    assert table.gather(rows)["spent"][0] > 0


def test_damage_is_detected_wherever_it_is() -> None:
    encoded = filled([b"alice", b"bob"]).take_everything()
    damaged = [encoded[:-1], encoded[1:], encoded + b"\0", b"", b"FUGUROWS"]
    damaged += [
        encoded[:at] + bytes([encoded[at] ^ 1]) + encoded[at + 1 :] for at in range(len(encoded))
    ]
    for content in damaged:
        with pytest.raises(StartRefused, match=r"damaged.*backup"):
            restored_from(content)


def test_the_state_of_another_alphabet_is_refused() -> None:
    encoded = filled([b"alice"]).take_everything()
    with pytest.raises(StartRefused, match="belongs to another operator or alphabet"):
        RowTable(TWO_SYMBOLS.start).apply(encoded)


def test_a_table_without_rows_comes_back_too() -> None:
    assert len(restored_from(new_table().take_everything())) == 0


def test_changes_hold_the_changed_rows_only_and_add_up_to_the_table() -> None:
    keys = [b"%d" % number for number in range(200)]
    table = filled(keys)
    first = table.take_changes()
    lift()(codec().decode(batch_of([(b"7", b'{"zone": "rest"}')], first_offset=200)), table)
    second = table.take_changes()
    assert len(second) < len(first) / 20
    assert same(table, restored_from(first, second), keys)
    assert not same(table, restored_from(first), keys)


def test_a_missing_block_is_refused() -> None:
    table = filled([b"alice"])
    table.take_changes()
    table.rows_of([b"bob"])
    with pytest.raises(StartRefused, match="a part of it is missing"):
        restored_from(table.take_changes())


def test_the_size_of_a_row_is_known_before_there_is_one() -> None:
    assert new_table().bytes_per_row == 8 * (3 + 1 + 1 + 1)


BUDGETED = Budgeted(CRR, total=2.0)
"""Two releases or three, and no more."""


def used(table: RowTable, keys: list[bytes], *, times: int = 1) -> list[int]:
    """Release so many times for each key; returns what was published the last time."""
    deduplication = Deduplication(remember=2)
    sanitize = lift(mechanism=BUDGETED, deduplication=deduplication)
    values = [b'{"zone": "light", "id": "%d"}' % number for number in range(times)]
    for value in values:
        batch = batch_of([(key, value) for key in keys])
        sanitized = sanitize(codec(event="id").decode(batch), table)
    released: list[int] = sanitized.releases.values.tolist()
    return released


def budgeted_table() -> RowTable:
    return RowTable(row_columns(BUDGETED, Deduplication(remember=2)), BUDGETED)


KEYS = [b"user-%d" % number for number in range(100)]


def test_streams_that_are_exhausted_for_good_give_up_their_row_and_go_on_the_same() -> None:
    table, whole = budgeted_table(), budgeted_table()
    for each in (table, whole):
        used(each, KEYS[:60], times=6)
        used(each, KEYS[60:])
    before = len(table.take_changes())
    compacted = table.take_everything()
    assert table.compacted == 60
    assert len(compacted) < before / 1.5
    assert len(table) == len(whole) == 100
    assert table.unknown([*KEYS, b"new"]) == [100]
    restored = budgeted_table()
    restored.apply(compacted)
    for keys in (KEYS, KEYS[40:80], [b"new", *KEYS]):
        released = used(whole, keys)
        assert used(table, keys) == released
        assert used(restored, keys) == released
    assert table.take_everything() == restored.take_everything()
    assert sorted(table.column("spent")) == sorted(whole.column("spent"))
    assert table.rows_of(KEYS[:60]).max() < 0


def test_a_table_is_compacted_again_and_again() -> None:
    table = budgeted_table()
    for count in (10, 50, 100):
        used(table, KEYS[:count], times=6)
        table.take_everything()
        assert (table.compacted, len(table)) == (count, count)
    assert len(set(table.rows_of(KEYS).tolist())) == 100


def test_changes_after_a_compaction_add_up_to_the_table() -> None:
    table = budgeted_table()
    used(table, KEYS[:50], times=6)
    blocks = [table.take_everything()]
    used(table, KEYS)
    blocks.append(table.take_changes())
    restored = budgeted_table()
    for block in blocks:
        restored.apply(block)
    assert restored.take_everything() == table.take_everything()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 30), st.booleans()), max_size=40))
def test_rows_that_are_given_to_other_keys_come_back_with_them(
    steps: list[tuple[int, int, bool]],
) -> None:
    table, restored = new_table(), new_table()
    table.rows_of([b"first"])
    held = {b"first": 0}
    for row, name, write in steps:
        key = b"key %d" % name
        if key in held:
            continue
        if row < len(table):
            held = {one: place for one, place in held.items() if place != row}
            table.recycle(row, key)
            held[key] = row
        else:
            held[key] = int(table.rows_of([key])[0])
        if write:
            restored.apply(table.take_changes())
    restored.apply(table.take_changes())
    for one in (table, restored):
        assert {key: one.row_of(key) for key in held} == held
        assert [held[key] for key in one.keys] == list(range(len(one)))
    again = restored_from(table.take_everything())
    assert again.keys == table.keys == restored.keys
    assert again.take_everything() == restored.take_everything()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["use", "use up", "recycle", "changes", "everything"]),
        st.lists(st.sampled_from(KEYS), max_size=8),
    ),
    max_size=10,
)


def blocks_of(table: RowTable, steps: list[tuple[str, list[bytes]]]) -> list[bytes]:
    """Do steps with a table; return every block that was taken, and one of all of it."""
    blocks = []
    for step, keys in steps:
        if step in ("use", "use up"):
            used(table, keys, times=1 if step == "use" else 6)
        elif step == "recycle":
            new = [key + b" again" for key in keys if key + b" again" not in table]
            for row, key in zip(range(len(table) - table.compacted), new, strict=False):
                if key not in table:
                    table.recycle(row, key)
        else:
            blocks.append(table.take_changes() if step == "changes" else table.take_everything())
    return [*blocks, table.take_everything()]


@pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")
@given(STEPS)
def test_blocks_are_the_same_without_numba(steps: list[tuple[str, list[bytes]]]) -> None:
    blocks = blocks_of(budgeted_table(), steps)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(row_table, "new_index", DictKeyIndex)
        assert blocks_of(budgeted_table(), steps) == blocks
