"""Rows move as they are, and nobody has two of them."""

from collections.abc import Sequence

import numpy as np
import pytest

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.base.ticks import CLOSED, TIME
from fugu.dataflows.state.moved_rows import moved_rows
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Integers, State


class Ends:
    """Streams that spent three are exhausted for good."""

    lasting = ("spent",)

    def exhausted(self, state: State) -> np.ndarray:
        return np.asarray(state["spent"] >= 3)


def start(rows: int) -> State:
    return {"spent": np.zeros(rows, dtype=np.int64), "belief": np.full((rows, 2), 0.5)}


def empty() -> RowTable:
    return RowTable(start, Ends())  # type: ignore[arg-type]


def table(spent: dict[bytes, int]) -> RowTable:
    one, amounts = empty(), np.array(list(spent.values()))
    rows = one.rows_of(list(spent))
    one.scatter(rows, {"spent": amounts, "belief": np.stack([amounts / 10, 1 - amounts / 10]).T})
    return one


def by_length(keys: Sequence[bytes]) -> Integers:
    return np.array([len(key) % 3 for key in keys], dtype=np.int64)


def test_every_row_is_found_as_it_was_in_the_partition_of_its_key() -> None:
    before = [{b"a": 1, b"bb": 2, b"ccc": 1}, {b"dd": 0, b"eeee": 2}]
    after = moved_rows([table(one) for one in before], by_length, 3, empty)
    assert [sorted(one.keys) for one in after] == [[b"ccc"], [b"a", b"eeee"], [b"bb", b"dd"]]
    for key, spent in {**before[0], **before[1]}.items():
        home = after[len(key) % 3]
        state = home.gather(home.rows_of([key]))
        assert state["spent"].tolist() == [spent]
        assert state["belief"].tolist() == [[spent / 10, 1 - spent / 10]]


def test_streams_without_a_key_are_spent_wherever_they_come() -> None:
    spent = table({b"gone": 3, b"here": 1})
    spent.take_everything()
    assert spent.compacted == 1
    for one in moved_rows([spent, table({b"x": 1})], by_length, 3, empty):
        assert one.gather(one.rows_of([b"gone"]))["spent"].tolist() == [3]
        assert not one.unknown([b"gone"])


def test_spent_streams_are_kept_once_however_often_rows_move() -> None:
    spent = table({b"gone": 3, b"too": 3, b"here": 1})
    spent.take_everything()
    tables = [spent]
    for _ in range(3):
        tables = moved_rows(tables, by_length, 3, empty)
        assert [one.compacted for one in tables] == [1, 1, 1], "a share of two, rounded up"
        assert not any(one.unknown([b"gone", b"too"]) for one in tables)


def test_two_rows_of_one_key_are_refused() -> None:
    with pytest.raises(StartRefused, match="a key has rows in two partitions"):
        moved_rows([table({b"a": 1}), table({b"a": 2})], by_length, 3, empty)
    spent = table({b"a": 3})
    spent.take_everything()
    with pytest.raises(StartRefused, match="a key has rows in two partitions"):
        moved_rows([table({b"a": 1}), spent], by_length, 3, empty)


def test_stream_time_is_the_latest_and_ticks_are_refused() -> None:
    early, late = table({b"a": 1}), table({b"b": 1})
    early.clock, late.clock = {TIME: 5}, {TIME: 9}
    assert [one.clock for one in moved_rows([early, late], by_length, 3, empty)] == [{TIME: 9}] * 3
    late.clock = {TIME: 9, CLOSED: 4}
    with pytest.raises(StartRefused, match="different ticks"):
        moved_rows([early, late], by_length, 3, empty)


def test_streams_without_a_key_are_counted_once_in_all_partitions_together() -> None:
    """Each partition admits a part of all keys, and would be full of those of others."""
    spent = table({b"gone-%d" % number: 3 for number in range(10)})
    spent.take_everything()
    after = moved_rows([spent, table({b"x": 1})], by_length, 3, empty)
    assert [one.compacted for one in after] == [4, 4, 4]
    again = empty()
    again.apply(after[0].take_everything())
    assert (again.compacted, len(again)) == (4, 4 + len(after[0].keys))
    once_more = moved_rows(after, by_length, 2, empty)
    assert [one.compacted for one in once_more] == [5, 5]
