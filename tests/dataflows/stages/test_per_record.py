"""Rounds of distinct rows make of a batch what its records make one by one, in input order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.stages.per_record import (
    Advanced,
    PerRecord,
    Selection,
    in_input_order,
    sanitized,
)
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Integers, Kind, Releases
from fugu.operators.multi_step import rounds_of_distinct_rows
from tests.dataflows.stages.columns import batch_of, codec, lift, new_table


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30))
def test_rounds_hold_every_index_once_rows_once_each_and_occurrences_in_order(
    rows: list[int],
) -> None:
    rounds = [index.tolist() for index in rounds_of_distinct_rows(np.array(rows))]
    assert sorted(i for index in rounds for i in index) == list(range(len(rows)))
    for number, index in enumerate(rounds):
        assert len({rows[i] for i in index}) == len(index)
        assert all(rows[:i].count(rows[i]) == number for i in index)


def test_an_empty_batch_is_one_empty_round() -> None:
    assert [index.tolist() for index in rounds_of_distinct_rows(np.array([], dtype=int))] == [[]]


def test_a_batch_of_dead_letters_only_releases_nothing_and_passes_them_on() -> None:
    sanitized = lift()(codec().decode(batch_of([(b"eve", None), (None, b"{}")])), new_table())
    assert len(sanitized.releases.values) == 0
    assert sanitized.dead.offsets == [0, 1]


def test_warming_up_changes_no_release() -> None:
    records = batch_of([(b"alice", b'{"zone": "rest"}'), (b"bob", b'{"zone": "light"}')])
    cold, warm = lift(), lift()
    warm.warm_up(np.zeros(20, dtype=np.int64))
    assert (
        cold(codec().decode(records), new_table()).releases.values.tolist()
        == warm(codec().decode(records), new_table()).releases.values.tolist()
    )


def test_a_release_costs_its_own_stream_only() -> None:
    table = new_table()
    records = [(key, b'{"zone": "rest"}') for key in (b"alice", b"bob", b"alice", b"alice")]
    lift()(codec().decode(batch_of(records)), table)
    state = table.gather(table.rows_of([b"alice", b"bob", b"eve"]))
    assert state["releases"].tolist() == [3, 1, 0]
    assert state["spent"][0] > state["spent"][1] > state["spent"][2] == 0


@pytest.mark.parametrize("sanitize", [lift()], ids=["lift"])
def test_a_batch_costs_what_its_records_cost_one_by_one(sanitize: PerRecord) -> None:
    zones = ["rest", "light", "rest", "vigorous", "light", "light", "rest", "rest"]
    keys = [b"alice", b"alice", b"bob", b"alice", b"bob", b"eve", b"alice", b"alice"]
    records = [
        (key, b'{"zone": "%s"}' % zone.encode()) for key, zone in zip(keys, zones, strict=True)
    ]
    together, alone = RowTable(sanitize.start), RowTable(sanitize.start)
    sanitize(codec().decode(batch_of(records)), together)
    for offset, record in enumerate(records):
        sanitize(codec().decode(batch_of([record], first_offset=offset)), alone)
    rows = together.rows_of([b"alice", b"bob", b"eve"])
    spent = together.gather(rows)["spent"]
    assert spent.tolist() == alone.gather(rows)["spent"].tolist()
    assert spent.min() > 0


# What belongs to a record stays with it, whatever is selected, joined or sorted.


NAMES = [b"ann", b"bob", b"cyd", b"dan", b"eve"]
ROWS = np.array([40, 30, 20, 10, 0])


def batch() -> Selection:
    decoded = codec().decode(batch_of([(name, b'{"zone": "rest"}') for name in NAMES]))
    return Selection.whole(decoded, ROWS)


def advanced(selection: Selection, levels: list[int], kind: Kind = Kind.FRESH) -> Advanced:
    """Records whose release is their row."""
    kinds: Integers = np.full(len(selection), kind)
    return Advanced(selection, Releases(selection.rows, {}, kinds), np.array(levels))


def test_a_selection_of_a_selection_has_the_columns_of_its_records() -> None:
    some = batch().at(np.array([1, 2, 4])).at(np.array([2, 0]))
    assert list(some.records.keys) == [b"eve", b"bob"]
    assert some.rows.tolist() == [0, 30]
    assert some.others == {0: 1000, 2: 1002, 3: 1003}


def test_all_records_in_another_order_are_not_the_batch_as_it_was() -> None:
    turned = batch().at(np.arange(5)[::-1])
    assert list(turned.records.keys) == NAMES[::-1]


def test_rounds_come_together_in_input_order_with_releases_and_levels() -> None:
    first = advanced(batch().at(np.array([0, 4])), [1, 5])
    second = advanced(batch().at(np.array([2])), [3])
    made = sanitized(in_input_order([first, second]))
    assert list(made.keys) == [b"ann", b"cyd", b"eve"]
    assert made.releases.values.tolist() == [40, 20, 0]
    assert list(zip(made.spending.keys, made.spending.levels, strict=True)) == [
        (b"ann", 1),
        (b"cyd", 3),
        (b"eve", 5),
    ]
    assert made.dead.offsets == [1, 3]
    assert set(made.dead.reasons) == {Reason.DUPLICATE}


def test_whoever_spends_on_what_is_suppressed_is_named_all_the_same() -> None:
    made = sanitized(advanced(batch().at(np.array([1, 3])), [0, 7], Kind.SUPPRESSED))
    assert list(made.keys) == []
    assert list(made.spending.keys) == [b"dan"]


def test_a_column_of_another_selection_is_refused() -> None:
    with pytest.raises(ValueError, match="exactly one release and one level"):
        advanced(batch().at(np.array([0, 1])), [1, 2, 3])
