"""Run a stage over a table, and count and say what comes of it."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from fugu.dataflows.base.advice import ADVICE
from fugu.dataflows.base.batches import Decoded, Reason
from fugu.dataflows.base.errors import without_values
from fugu.dataflows.base.metrics import DEAD_LETTERS, STATE_BYTES, STREAMS, Metrics
from fugu.dataflows.base.ticks import CLOSED, TIME, Clock
from fugu.dataflows.stages.budget_levels import budget_levels
from fugu.dataflows.stages.stage import Made, Stage
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.temporal.temporal_perturbation import End

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
