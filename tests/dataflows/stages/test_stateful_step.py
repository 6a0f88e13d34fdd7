"""Make what a step points at durable before the pointer counts."""

from pathlib import Path
from threading import Event, Timer

import pytest

from fugu.dataflows.base.batches import Sanitized
from fugu.dataflows.base.metrics import STREAMS_BY_BUDGET, Metrics
from fugu.dataflows.stages.per_record import row_columns
from fugu.dataflows.stages.stateful_step import BudgetLevels, Sanitize, budget_levels
from fugu.dataflows.state.row_log import RowLog
from fugu.dataflows.state.row_table import RowTable
from fugu.dataflows.state.writes_beside import Write, WritesBeside
from fugu.operators.budget import Budgeted
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from tests.dataflows.stages.columns import ALPHABET, CRR, batch_of, codec, lift

RECORDS = [(b"ada", b'{"zone": "rest"}')]


class Held(WritesBeside):
    """Writes that begin when a test lets them."""

    def __init__(self) -> None:
        super().__init__()
        self.may_begin = Event()

    def begin(self, write: Write) -> None:
        def later() -> None:
            assert self.may_begin.wait(10)
            write()

        super().begin(later)


@pytest.fixture
def writes() -> Held:
    return Held()


@pytest.fixture
def step(tmp_path: Path, writes: Held) -> Sanitize[Sanitized]:
    return Sanitize(lift(), tmp_path, "vitals.raw", Metrics(), None, writes=writes)


def release(step: Sanitize[Sanitized]) -> None:
    step.on_batch([codec().decode(batch_of(RECORDS))])


def test_with_records_for_the_sinks_the_sinks_wait(
    step: Sanitize[Sanitized], writes: Held, tmp_path: Path
) -> None:
    release(step)
    pointer = step.snapshot()
    assert not list(tmp_path.iterdir()), "the snapshot came back before anything was written"
    writes.may_begin.set()
    writes.wait()
    RowLog(tmp_path, 2, CRR.start).load(pointer)


def test_without_records_for_the_sinks_the_step_waits_itself(
    step: Sanitize[Sanitized], writes: Held, tmp_path: Path
) -> None:
    release(step)
    writes.may_begin.set()
    step.snapshot()
    writes.wait()
    writes.may_begin.clear()
    Timer(0.1, writes.may_begin.set).start()
    pointer = step.snapshot()
    RowLog(tmp_path, 2, CRR.start).load(pointer)


# Count the streams of a partition by what they have spent: all of them, also compacted ones.


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
