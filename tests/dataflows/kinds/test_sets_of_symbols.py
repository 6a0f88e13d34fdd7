"""Releases of many bits on their way: rounds, budgets, a table that is compacted and restored."""

import orjson

from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.symbols import SymbolSets
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.budget import Budgeted
from fugu.operators.responses.optimized_unary_encoding import OptimizedUnaryEncoding
from tests.dataflows.stages.columns import ALPHABET, batch_of, lift

BUDGETED = Budgeted(OptimizedUnaryEncoding(len(ALPHABET), epsilon=1.0), total=2.0)
CODEC = Codec(SymbolSets("zone", ALPHABET), 1_000)
KEYS = [b"alice", b"bob", b"alice", b"alice", b"carol", b"alice", b"bob"]


def published(table: RowTable, first: int, last: int) -> list[dict[str, object]]:
    """Return what becomes of records number `first` to `last`."""
    messages = [(key, b'{"zone":"light"}') for key in KEYS[first:last]]
    decoded = CODEC.decode(batch_of(messages, first_offset=first))
    releases = lift(mechanism=BUDGETED)(decoded, table).releases
    return [orjson.loads(value) for value in CODEC.encode(releases)]


def new_table() -> RowTable:
    return RowTable(BUDGETED.start, BUDGETED)


def test_sets_are_released_in_input_order_until_the_budget_repeats_the_last_one() -> None:
    found = published(new_table(), 0, len(KEYS))
    alices = [release for key, release in zip(KEYS, found, strict=True) if key == b"alice"]
    assert alices[2] == alices[3] == alices[1] | {"repeated": True}
    assert ["repeated" in release for release in found] == [number in (3, 5) for number in range(7)]


def test_an_exhausted_stream_keeps_the_set_that_it_repeats_through_compaction() -> None:
    whole = published(new_table(), 0, len(KEYS))
    for cut in range(len(KEYS) + 1):
        before = new_table()
        found = published(before, 0, cut)
        after = new_table()
        after.apply(before.take_everything())
        assert after.compacted == (cut > 3)
        assert found + published(after, cut, len(KEYS)) == whole
