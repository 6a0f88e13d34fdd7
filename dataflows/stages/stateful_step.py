"""Run one stage over one partition, as a stateful step of bytewax."""

import logging
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from bytewax.operators import StatefulBatchLogic

from fugu.dataflows.base.batches import DeadLetters, Decoded, Reason
from fugu.dataflows.base.errors import without_values
from fugu.dataflows.base.metrics import DEAD_LETTERS, STATE_BYTES, STREAMS, Metrics
from fugu.dataflows.state.former_rows import FormerRows
from fugu.dataflows.state.row_log import RowLog, partition_of
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import ExhaustibleMechanism, State
from fugu.operators.temporal.temporal_perturbation import End


class WithDeadLetters(Protocol):
    """Describe what comes of a batch of one partition, refused records among it."""

    @property
    def partition(self) -> int: ...

    @property
    def dead(self) -> DeadLetters: ...


_AHEAD_OF_TIME = {
    Reason.TIME_NOT_BEGUN: (
        "stream time begins when enough people have sent records, or a heartbeat "
        "(ticks.stream_time). If this partition has fewer people, lower distinct_keys or declare "
        "heartbeats at a stop"
    ),
    Reason.TOO_FAR_AHEAD: (
        "a clock is wrong, or stream time waits: too few people move it (ticks.stream_time), or it "
        "was silent for longer than ticks.max_jump and goes on by itself"
    ),
}
"""Why records are refused that are ahead of stream time, and what to do."""

log = logging.getLogger(__name__)

Out = TypeVar("Out", bound=WithDeadLetters)
Made = TypeVar("Made", bound=WithDeadLetters, covariant=True)


class Stage(Protocol[Made]):
    """Describe what is done with the records of a partition and the rows of their keys."""

    @property
    def ends(self) -> ExhaustibleMechanism | None:
        """Return how rows come to an end, if they do."""
        ...

    def start(self, rows: int) -> State:
        """Return the columns of fresh rows."""
        ...

    def __call__(self, decoded: Decoded, table: RowTable) -> Made:
        """Take one batch in, in order."""
        ...

    def finish(self, partition: int, table: RowTable, end: End) -> Made:
        """Return what was held back, after the last record."""
        ...


class Sanitize(StatefulBatchLogic[Decoded, Out, bytes]):
    """Run one stage over one partition; the state is a pointer into the partition's row log."""

    def __init__(
        self,
        stage: Stage[Out],
        directory: Path,
        topic: str,
        metrics: Metrics,
        pointer: bytes | None,
        finishing: End | None = None,
        former: Callable[[int], FormerRows | None] = lambda partition: None,
    ) -> None:
        self._former = former
        self._stage = stage
        self._directory = directory
        self._topic = topic
        self._metrics = metrics
        self._finishing = finishing
        self._log: RowLog | None = None
        self._refused = Counter[Reason]()
        if pointer is not None:
            partition = partition_of(pointer)
            log = self._open(partition)
            log.load(pointer)
            metrics.put(STREAMS, len(log.table), topic, partition)

    def on_batch(self, values: list[Decoded]) -> tuple[list[Out], bool]:
        """Sanitize every batch, in order."""
        out = []
        for decoded in values:
            with without_values("sanitize", self._topic, decoded.partition, decoded.offsets):
                log = self._log or self._begin(decoded.partition)
                sanitized = self._stage(decoded, log.table)
            for reason, count in Counter(sanitized.dead.reasons).items():
                self._metrics.add(DEAD_LETTERS, count, self._topic, decoded.partition, reason)
                self._say_what_waits(decoded.partition, reason, count)
            out.append(sanitized)
        return out, StatefulBatchLogic.RETAIN

    def on_eof(self) -> tuple[list[Out], bool]:
        """Let out what streams hold back, after the last record, where the pipeline is to
        finish."""
        if self._finishing is None or self._log is None:
            return [], StatefulBatchLogic.RETAIN
        with without_values("finish", self._topic, self._log.partition, []):
            finished = self._stage.finish(self._log.partition, self._log.table, self._finishing)
        return [finished], StatefulBatchLogic.RETAIN

    def snapshot(self) -> bytes:
        """Write the rows that changed and point at them."""
        assert self._log is not None
        pointer = self._log.append()
        table, partition = self._log.table, partition_of(pointer)
        written = table.rows_taken * table.bytes_per_row
        self._metrics.put(STATE_BYTES, written, self._topic, partition)
        self._metrics.put(STREAMS, len(table), self._topic, partition)
        return pointer

    def _say_what_waits(self, partition: int, reason: Reason, count: int) -> None:
        """Warn of the first record that stream time refuses, the tenth, the hundredth, and so
        on."""
        if reason not in _AHEAD_OF_TIME:
            return
        before, self._refused[reason] = self._refused[reason], self._refused[reason] + count
        if before == 0 or len(str(before)) < len(str(self._refused[reason])):
            log.warning(
                "topic %s, partition %d: %d records refused so far since the start (%s): %s",
                self._topic,
                partition,
                self._refused[reason],
                reason,
                _AHEAD_OF_TIME[reason],
                extra={"topic": self._topic, "partition": partition, "reason": str(reason)},
            )

    def _begin(self, partition: int) -> RowLog:
        """Open the log with the first batch: bytewax does not tell a new state its partition."""
        log = self._open(partition)
        log.begin()
        return log

    def _open(self, partition: int) -> RowLog:
        stage, former = self._stage, self._former(partition)
        self._log = RowLog(self._directory, partition, stage.start, stage.ends, former)
        return self._log
