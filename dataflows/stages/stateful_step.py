"""Run one stage over one partition, as a stateful step of bytewax that keeps its rows on disk."""

from dataclasses import dataclass, field
from pathlib import Path

from bytewax.operators import StatefulBatchLogic

from fugu.dataflows.base.batches import Decoded
from fugu.dataflows.base.metrics import Metrics
from fugu.dataflows.stages.measured_stage import MeasuredStage
from fugu.dataflows.stages.stage import Made, Stage
from fugu.dataflows.state.row_log import RowLog, partition_of
from fugu.dataflows.state.writes_beside import WritesBeside
from fugu.operators.temporal.temporal_perturbation import End


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
