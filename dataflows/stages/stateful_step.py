"""Run one stage over one partition, as a stateful step of bytewax, and count what comes of it."""

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
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
from fugu.dataflows.base.ticks import CLOSED, TIME, Clock
from fugu.dataflows.stages.bounding import Bounded
from fugu.dataflows.stages.log_entries import Asking, PartialSums
from fugu.dataflows.stages.private_reports import READ, PrivateReports
from fugu.dataflows.stages.stage import Made, Stage
from fugu.dataflows.state.row_log import RowLog, partition_of
from fugu.dataflows.state.row_table import RowTable
from fugu.dataflows.state.writes_beside import WritesBeside
from fugu.operators.mechanism import AT_THE_END, ExhaustibleMechanism
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


@dataclass(frozen=True)
class Heard:
    """Hold what a batch of the internal log asks of users, for one partition of the source."""

    partition: int
    asked: tuple[Asking, ...]


@dataclass(eq=False)
class Gate:
    """Tell the source which partitions wait, and how far records have been taken in.

    `positions` holds the offset of the next record that is not in the state. A source that resumes
    there reads nothing too late; what it reads twice, the stage passes over.
    """

    positions: dict[int, int] = field(default_factory=dict)
    waiting: dict[int, tuple[int, float]] = field(default_factory=dict)
    """The tick that a partition waits with, and since which moment."""

    def note(self, partition: int, position: int, tick: int | None) -> None:
        """Take in how far a partition has come."""
        self.positions[partition] = max(position, self.positions.get(partition, 0))
        if tick is None:
            self.waiting.pop(partition, None)
        elif self.waiting.get(partition, (None, 0.0))[0] != tick:
            self.waiting[partition] = tick, time.monotonic()


@dataclass(eq=False)
class WaitingStep(Sanitize[Bounded[PartialSums]]):
    """Run the stage over one partition.

    Records that are held back are not in the state: they are read again after a restart.
    """

    stage: PrivateReports
    gate: Gate = field(default_factory=Gate, kw_only=True)

    def __post_init__(self) -> None:
        self._held: deque[Decoded] = deque()
        super().__post_init__()

    def on_batch(self, values: list[Decoded | Heard]) -> tuple[list[Bounded[PartialSums]], bool]:  # type: ignore[override]
        """Take records and instructions in, in whatever order they come."""
        out: list[Bounded[PartialSums]] = []
        for value in values:
            log = self._log or self._begin(value.partition)
            if isinstance(value, Decoded):
                self._held.append(value)
            else:
                for asking in value.asked:
                    self.stage.hear(log.table, asking)
            out += self._taken_in(value.partition)
        self._sinks_wait = True
        return out, StatefulBatchLogic.RETAIN

    def _taken_in(self, partition: int) -> list[Bounded[PartialSums]]:
        """Go on with what is held back, as far as it goes."""
        assert self._log is not None
        out, table, tick = list[Bounded[PartialSums]](), self._log.table, None
        while self._held and tick is None:
            decoded = self._held.popleft()
            with without_values("sanitize", self.topic, partition, decoded.offsets):
                made, left, tick = self.stage.advance(decoded, table)
            if left is not None:
                self._held.appendleft(left)
            self._measured.made(made, table)
            if made.partials or made.dead.offsets:
                out.append(made)
        self.gate.note(partition, table.clock.get(READ, 0), tick)
        return out
