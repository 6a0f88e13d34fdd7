"""Rounds of distinct rows make of a batch what its records make one by one, in input order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.dataflows.stages.per_record import PerRecord
from fugu.dataflows.state.row_table import RowTable
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
