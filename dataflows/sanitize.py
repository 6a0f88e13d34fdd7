"""The stateful step: one mechanism over one partition."""

from collections import Counter
from pathlib import Path
from typing import Protocol, TypeVar

from bytewax.operators import StatefulBatchLogic

from dataflows.batches import DeadLetters, Decoded
from dataflows.errors import without_values
from dataflows.monitoring.metrics import DEAD_LETTERS, STATE_BYTES, STREAMS, Metrics
from dataflows.state.row_log import RowLog, partition_of
from dataflows.state.row_table import RowTable
from operators.mechanism import ExhaustibleMechanism, State
from operators.temporal.temporal_perturbation import End


class WithDeadLetters(Protocol):
    """What comes of a batch, refused records among it."""

    @property
    def dead(self) -> DeadLetters: ...


Out = TypeVar("Out", bound=WithDeadLetters)
Made = TypeVar("Made", bound=WithDeadLetters, covariant=True)


class Stage(Protocol[Made]):
    """What is done with the records of a partition and the rows of their keys."""

    @property
    def ends(self) -> ExhaustibleMechanism | None:
        """How rows come to an end, if they do."""
        ...

    def start(self, rows: int) -> State:
        """The columns of fresh rows."""
        ...

    def __call__(self, decoded: Decoded, table: RowTable) -> Made:
        """One batch, in order."""
        ...

    def finish(self, partition: int, table: RowTable, end: End) -> Made:
        """What was held back, after the last record."""
        ...


class Sanitize(StatefulBatchLogic[Decoded, Out, bytes]):
    """One stage over one partition; its state is a pointer into the partition's row log."""

    def __init__(
        self,
        stage: Stage[Out],
        directory: Path,
        topic: str,
        metrics: Metrics,
        pointer: bytes | None,
        finishing: End | None = None,
    ) -> None:
        self._stage = stage
        self._directory = directory
        self._topic = topic
        self._metrics = metrics
        self._finishing = finishing
        self._log: RowLog | None = None
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
            out.append(sanitized)
        return out, StatefulBatchLogic.RETAIN

    def on_eof(self) -> tuple[list[Out], bool]:
        """Where the pipeline is to finish, what streams hold back follows the last record."""
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

    def _begin(self, partition: int) -> RowLog:
        """bytewax does not tell a new state which partition it is for; its first batch does."""
        log = self._open(partition)
        log.begin()
        return log

    def _open(self, partition: int) -> RowLog:
        self._log = RowLog(self._directory, partition, self._stage.start, self._stage.ends)
        return self._log
