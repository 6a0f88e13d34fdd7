"""Run one stage over one partition, as a stateful step of bytewax."""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bytewax.operators import StatefulBatchLogic

from fugu.dataflows.base.advice import ADVICE
from fugu.dataflows.base.batches import Decoded, Reason
from fugu.dataflows.base.errors import without_values
from fugu.dataflows.base.metrics import DEAD_LETTERS, STATE_BYTES, STREAMS, Metrics
from fugu.dataflows.base.ticks import CLOSED, TIME, Clock
from fugu.dataflows.stages.budget_levels import budget_levels
from fugu.dataflows.stages.stage import Made, Stage
from fugu.dataflows.state.former_rows import FormerRows
from fugu.dataflows.state.row_log import RowLog, partition_of
from fugu.dataflows.state.row_table import RowTable
from fugu.dataflows.state.writes_beside import WritesBeside
from fugu.operators.temporal.temporal_perturbation import End

_AHEAD_OF_TIME = (Reason.TIME_NOT_BEGUN, Reason.TOO_FAR_AHEAD)
"""Why records are refused that are ahead of stream time."""

log = logging.getLogger(__name__)


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
    former: Callable[[int], FormerRows | None] = lambda partition: None

    def __post_init__(self) -> None:
        self._log: RowLog | None = None
        self._sinks_wait = False
        self._refused = Counter[Reason]()
        self._levels = budget_levels(self.stage.ends, self.metrics, self.topic)
        if self.pointer is not None:
            partition = partition_of(self.pointer)
            log = self._open(partition)
            log.load(self.pointer)
            self._count(partition, log.table)
            self._stand(partition, log.table.clock, [])

    def on_batch(self, values: list[Decoded]) -> tuple[list[Made], bool]:
        """Sanitize every batch, in order."""
        out = []
        for decoded in values:
            with without_values("sanitize", self.topic, decoded.partition, decoded.offsets):
                log = self._log or self._begin(decoded.partition)
                sanitized = self.stage(decoded, log.table)
            for reason, count in Counter(sanitized.dead.reasons).items():
                self.metrics.add(DEAD_LETTERS, count, self.topic, decoded.partition, reason)
                self._say_what_waits(decoded.partition, reason, count)
            self._stand(decoded.partition, log.table.clock, sanitized.dead.reasons)
            out.append(sanitized)
        self._sinks_wait = True
        return out, StatefulBatchLogic.RETAIN

    def on_eof(self) -> tuple[list[Made], bool]:
        """Let out what streams hold back, after the last record, where the pipeline is to
        finish."""
        if self.finishing is None or self._log is None:
            return [], StatefulBatchLogic.RETAIN
        with without_values("finish", self.topic, self._log.partition, []):
            finished = self.stage.finish(self._log.partition, self._log.table, self.finishing)
        self._sinks_wait = True
        return [finished], StatefulBatchLogic.RETAIN

    def snapshot(self) -> bytes:
        """Begin to write the rows that changed, and point at them."""
        assert self._log is not None
        pointer = self._log.append(self.writes.begin)
        if not self._sinks_wait:
            self.writes.wait()
        self._sinks_wait = False
        table, partition = self._log.table, partition_of(pointer)
        written = table.rows_taken * table.bytes_per_row
        self.metrics.put(STATE_BYTES, written, self.topic, partition)
        self._count(partition, table)
        return pointer

    def _count(self, partition: int, table: RowTable) -> None:
        self.metrics.put(STREAMS, len(table), self.topic, partition)
        holding = self.metrics.standing.holding
        if self.stage.holds(table):
            holding.add(partition)
        else:
            holding.discard(partition)
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

    def _begin(self, partition: int) -> RowLog:
        """Open the log with the first batch: bytewax does not tell a new state its partition."""
        log = self._open(partition)
        log.begin()
        return log

    def _open(self, partition: int) -> RowLog:
        former, stage = self.former(partition), self.stage
        self._log = RowLog(self.directory, partition, stage.start, stage.ends, former)
        return self._log
