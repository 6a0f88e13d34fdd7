"""Run one stage over one partition, as a stateful step of bytewax, and count what comes of it."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Generic

import numpy as np
from bytewax.operators import StatefulBatchLogic

from fugu.dataflows.base.batches import ADVICE, Decoded, Reason
from fugu.dataflows.base.errors import without_values
from fugu.dataflows.base.metrics import (
    DEAD_LETTERS,
    STATE_BYTES,
    STREAMS,
    STREAMS_BY_BUDGET,
    Metrics,
)
from fugu.dataflows.base.ticks import CLOSED, TIME, Clock, Ticks
from fugu.dataflows.records.deduplication import Deduplication
from fugu.dataflows.stages.displaced import tick_columns
from fugu.dataflows.stages.per_record import row_columns
from fugu.dataflows.stages.reports import report_columns
from fugu.dataflows.stages.series import series_columns
from fugu.dataflows.stages.stage import Made, Stage
from fugu.dataflows.stages.summing import cells
from fugu.dataflows.stages.windows import window_cells
from fugu.dataflows.state.row_log import RowLog, partition_of
from fugu.dataflows.state.row_table import RowTable
from fugu.dataflows.state.writes_beside import WritesBeside
from fugu.operators.ldp_ids.reporting import CollectingMechanism
from fugu.operators.mechanism import AT_THE_END, ExhaustibleMechanism, Mechanism, State
from fugu.operators.personal_cap import cap_of
from fugu.operators.temporal.temporal_perturbation import End

_LEVELS = (*map(str, range(AT_THE_END)), "exhausted")
_PAUSES = 100
"""Counting takes at most one part of so many of the time. A million rows take some milliseconds."""


@dataclass
class BudgetLevels:
    """Show the counts, but not so often that it would slow a large table down."""

    ends: ExhaustibleMechanism
    metrics: Metrics
    topic: str
    clock: Callable[[], float] = time.monotonic
    spent: Callable[[], float] = time.thread_time
    """Seconds of the processor, so that a machine that is busy with other things does not count."""
    _next: float = field(default=float("-inf"), init=False)

    def show(self, partition: int, table: RowTable) -> None:
        """Count all streams of a partition, unless they were counted just now."""
        now, begun = self.clock(), self.spent()
        if now < self._next:
            return
        counts = np.bincount(self.ends.level(table.columns), minlength=AT_THE_END + 1)
        counts[AT_THE_END] += table.compacted
        for spent, count in zip(_LEVELS, counts.tolist(), strict=True):
            self.metrics.put(STREAMS_BY_BUDGET, count, self.topic, partition, spent)
        self._next = now + _PAUSES * (self.spent() - begun)


def budget_levels(
    ends: ExhaustibleMechanism | None, metrics: Metrics, topic: str
) -> BudgetLevels | None:
    """Return what counts streams, where each has a budget for its whole life."""
    return None if ends is None or not ends.lasting else BudgetLevels(ends, metrics, topic)


_AHEAD_OF_TIME = (Reason.TIME_NOT_BEGUN, Reason.TOO_FAR_AHEAD)
"""Why records are refused that are ahead of stream time."""

log = logging.getLogger(__name__)


@dataclass(eq=False)
class MeasuredStage(Generic[Made]):
    """Hand batches of the topic to a stage, wherever its tables are kept."""

    stage: Stage[Made]
    topic: str
    metrics: Metrics

    def __post_init__(self) -> None:
        self._refused = Counter[Reason]()
        self._levels = budget_levels(self.stage.ends, self.metrics, self.topic)

    def sanitize(self, decoded: Decoded, table: RowTable) -> Made:
        """Take one batch in."""
        with without_values("sanitize", self.topic, decoded.partition, decoded.offsets):
            made = self.stage(decoded, table)
        self.made(made, table)
        return made

    def made(self, made: Made, table: RowTable) -> None:
        """Count what was refused, and show how far stream time has come."""
        partition, reasons = made.partition, made.dead.reasons
        for reason, count in Counter(reasons).items():
            self.metrics.add(DEAD_LETTERS, count, self.topic, partition, reason)
            self._say_what_waits(partition, reason, count)
        self._stand(partition, table.clock, reasons)

    def finish(self, partition: int, table: RowTable, end: End) -> Made:
        """Let out or discard what was held back, after the last record."""
        with without_values("finish", self.topic, partition, []):
            return self.stage.finish(partition, table, end)

    def resumed(self, partition: int, table: RowTable) -> None:
        """Show a table that was read back."""
        self._count(partition, table)
        self._stand(partition, table.clock, [])

    def written(self, partition: int, table: RowTable) -> None:
        """Show a table whose changes are written."""
        bytes_written = table.rows_taken * table.bytes_per_row
        self.metrics.put(STATE_BYTES, bytes_written, self.topic, partition)
        self._count(partition, table)

    def _count(self, partition: int, table: RowTable) -> None:
        self.metrics.put(STREAMS, len(table), self.topic, partition)
        standing = self.metrics.standing
        for partitions, belongs in (
            (standing.holding, self.stage.holds(table)),
            (standing.crowded, self.stage.is_crowded(table)),
        ):
            (partitions.add if belongs else partitions.discard)(partition)
        if self._levels is not None:
            self._levels.show(partition, table)

    def _stand(self, partition: int, clock: Clock, reasons: Sequence[Reason]) -> None:
        """Tell how far stream time has come, where ticks close by it."""
        standing = self.metrics.standing
        if TIME in clock and CLOSED in clock:
            standing.times[partition] = clock[TIME]
            standing.not_begun.discard(partition)
        elif Reason.TIME_NOT_BEGUN in reasons:
            standing.not_begun.add(partition)

    def _say_what_waits(self, partition: int, reason: Reason, count: int) -> None:
        """Warn of the first record that stream time refuses, the tenth, the hundredth, and so
        on."""
        if reason not in _AHEAD_OF_TIME:
            return
        before, self._refused[reason] = self._refused[reason], self._refused[reason] + count
        if before == 0 or len(str(before)) < len(str(self._refused[reason])):
            log.warning(
                "topic %s, partition %d: %d records refused so far since the start (%s): %s",
                self.topic,
                partition,
                self._refused[reason],
                reason,
                ADVICE[reason],
                extra={"topic": self.topic, "partition": partition, "reason": str(reason)},
            )


@dataclass(eq=False)
class Sanitize(StatefulBatchLogic[Decoded, Made, bytes]):
    """Run one stage over one partition; the state is a pointer into the partition's row log.

    What it points at is written beside the dataflow. The pointer must not count before that is
    durable: the parts of sinks wait for it, which bytewax asks for their snapshots after this step,
    in every epoch in which they got something.
    """

    stage: Stage[Made]
    directory: Path
    topic: str
    metrics: Metrics
    pointer: bytes | None
    finishing: End | None = None
    writes: WritesBeside = field(default_factory=WritesBeside)

    def __post_init__(self) -> None:
        self._log: RowLog | None = None
        self._sinks_wait = False
        self._measured = MeasuredStage(self.stage, self.topic, self.metrics)
        if self.pointer is not None:
            partition = partition_of(self.pointer)
            log = self._open(partition)
            log.load(self.pointer)
            self._measured.resumed(partition, log.table)

    def on_batch(self, values: list[Decoded]) -> tuple[list[Made], bool]:
        """Sanitize every batch, in order."""
        out = []
        for decoded in values:
            log = self._log or self._begin(decoded.partition)
            out.append(self._measured.sanitize(decoded, log.table))
        self._sinks_wait = True
        return out, StatefulBatchLogic.RETAIN

    def on_eof(self) -> tuple[list[Made], bool]:
        """Let out what streams hold back, after the last record, where the pipeline is to
        finish."""
        if self.finishing is None or self._log is None:
            return [], StatefulBatchLogic.RETAIN
        finished = self._measured.finish(self._log.partition, self._log.table, self.finishing)
        self._sinks_wait = True
        return [finished], StatefulBatchLogic.RETAIN

    def snapshot(self) -> bytes:
        """Begin to write the rows that changed, and point at them."""
        assert self._log is not None
        pointer = self._log.append(self.writes.begin)
        if not self._sinks_wait:
            self.writes.wait()
        self._sinks_wait = False
        self._measured.written(partition_of(pointer), self._log.table)
        return pointer

    def _begin(self, partition: int) -> RowLog:
        """Open the log with the first batch: bytewax does not tell a new state its partition."""
        log = self._open(partition)
        log.begin()
        return log

    def _open(self, partition: int) -> RowLog:
        self._log = RowLog(self.directory, partition, self.stage.start, self.stage.ends)
        return self._log


class StageKind(Enum):
    """Tell how records of a stream are brought to a mechanism."""

    PER_RECORD = "per record"
    DISPLACED = "displaced in time, per tick, or per record where every record is one"
    SERIES = "one number per tick"
    REPORTS = "one report per tick, or per record where every record is one"
    AGGREGATE = "figures over all users, per tick"
    WINDOW = "records of all users, anonymised per tick"

    @property
    def merges(self) -> bool:
        """Return whether all partitions tell of their ticks, and one merge releases them."""
        return self in (StageKind.AGGREGATE, StageKind.WINDOW)

    def columns(
        self, mechanism: Mechanism, ticks: Ticks | None, deduplication: Deduplication | None
    ) -> Callable[[int], State]:
        """Return what makes the columns of so many rows in the state of the stage."""
        if ticks is None:
            return row_columns(mechanism, deduplication)
        match self:
            case StageKind.AGGREGATE if isinstance(mechanism, CollectingMechanism):
                reporting = mechanism.reporting
                return lambda rows: {**cells(ticks, rows), **reporting.start(rows)}
            case StageKind.AGGREGATE:
                return partial(cells, ticks, cap=cap_of(mechanism))
            case StageKind.WINDOW:
                return partial(window_cells, ticks)
            case StageKind.SERIES:
                return series_columns(mechanism, ticks)
            case StageKind.REPORTS:
                return report_columns(mechanism, ticks)
            case _:
                return tick_columns(mechanism, ticks)
