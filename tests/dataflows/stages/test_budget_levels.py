"""Count the streams of a partition by what they have spent: all of them, also compacted ones."""

from fugu.dataflows.base.metrics import STREAMS_BY_BUDGET, Metrics
from fugu.dataflows.stages.budget_levels import BudgetLevels, budget_levels
from fugu.dataflows.stages.per_record import row_columns
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.budget import Budgeted
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from tests.dataflows.stages.columns import ALPHABET, batch_of, codec, lift

MECHANISM = Budgeted(GeneralizedRandomizedResponse(len(ALPHABET), epsilon=1.0), total=4.0)
"""Four records spend a budget, the fifth one finds it empty."""


def counts(metrics: Metrics) -> dict[str, float]:
    """Levels of which there are streams."""
    shown = metrics.values(STREAMS_BY_BUDGET)
    assert {place[:2] for place in shown} == {("raw", "2")}
    return {spent: count for (_, _, spent), count in shown.items() if count}


def table_of(records: dict[bytes, int]) -> RowTable:
    """A partition with so many records of each key."""
    table = RowTable(row_columns(MECHANISM, None), MECHANISM)
    batch = [(key, b'{"zone": "rest"}') for key, count in records.items() for _ in range(count)]
    lift(mechanism=MECHANISM)(codec().decode(batch_of(batch)), table)
    return table


def test_every_stream_counts_at_its_level() -> None:
    metrics = Metrics()
    table = table_of({b"ada": 1, b"bob": 2, b"eve": 4, b"joe": 5, b"kim": 9})
    BudgetLevels(MECHANISM, metrics, "raw").show(2, table)
    assert counts(metrics) == {"2": 1, "4": 1, "9": 1, "exhausted": 2}


def test_streams_that_gave_up_their_row_count_on() -> None:
    metrics, table = Metrics(), table_of({b"ada": 1, b"joe": 5, b"kim": 9})
    table.take_everything()
    assert table.compacted == 2
    BudgetLevels(MECHANISM, metrics, "raw").show(2, table)
    assert counts(metrics) == {"2": 1, "exhausted": 2}


def test_counting_takes_a_hundredth_of_the_time() -> None:
    metrics, moments, spent = Metrics(), iter([10.0, 59.9, 60.1]), iter([7.0, 7.5, 7.6, 7.7, 7.8])
    levels = BudgetLevels(
        MECHANISM, metrics, "raw", clock=lambda: next(moments), spent=lambda: next(spent)
    )
    levels.show(2, table_of({b"ada": 1}))
    levels.show(2, table_of({b"ada": 1, b"bob": 1}))
    assert counts(metrics) == {"2": 1}, "it was counted 49.9 s ago, which took .5 s"
    levels.show(2, table_of({b"ada": 1, b"bob": 1}))
    assert counts(metrics) == {"2": 2}


def test_with_a_window_or_without_a_budget_nothing_is_counted() -> None:
    window = Budgeted(MECHANISM.mechanism, total=4.0, window=3)
    assert budget_levels(window, Metrics(), "raw") is None
    assert budget_levels(None, Metrics(), "raw") is None
