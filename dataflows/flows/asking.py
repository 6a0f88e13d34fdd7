"""Sum private reports of users who are asked by the collector: the first dataflow, in every shard.

source ───────▶ decode ──▶ bound ──▶ partials ──▶ internal log
internal log ──▶ heard ──▶      └─▶ dead letters
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import ClassVar

import bytewax.operators as op
from bytewax.dataflow import Stream
from bytewax.operators import KeyedStream

from fugu.dataflows.base.batches import Batch, Decoded
from fugu.dataflows.flows.bounding import BoundingPlan
from fugu.dataflows.flows.own_entries import OwnEntries
from fugu.dataflows.flows.plan import offsets_of
from fugu.dataflows.kafka.client import Reader
from fugu.dataflows.kafka.source import GatedSource, KafkaSource, part_name, require_source_offset
from fugu.dataflows.stages.bounding import Bounded
from fugu.dataflows.stages.log_entries import ASKING_KEY, Asking, PartialSums
from fugu.dataflows.stages.private_reports import PrivateReports
from fugu.dataflows.stages.stateful_step import Gate, Heard, WaitingStep
from fugu.dataflows.state.recovery import resuming

_LOG_STEP = "asked"


@dataclass(frozen=True, kw_only=True)
class AskingPlan(BoundingPlan):
    """Hold the plan of one shard, which reads in the internal log what the collector asks."""

    stage: PrivateReports
    gate: Gate = field(default_factory=Gate)

    steps: ClassVar[list[str]] = [*BoundingPlan.steps, _LOG_STEP, "heard"]

    def source(self, topic: str, begin: dict[int, int], reader: Reader) -> KafkaSource:
        """Return the source, which stands still while records wait."""
        gate = self.gate
        shared = (topic, begin, reader, self.max_batch, self.stop, self.metrics)
        return GatedSource(*shared, gate.waiting.__contains__, gate.positions)

    def items(self, batches: Stream[Batch]) -> KeyedStream[Bounded[PartialSums]]:
        """Decode batches, and hand them to the stage together with what is asked."""
        decoded = op.map("decode", batches, self._decode)
        log = KafkaSource(
            self.fingerprint.sink_topic,
            {0: self._log_begin},
            self.client.reader(self.fingerprint.sink_topic, headers=True),
            self.max_batch,
            self.stop,
            self.metrics,
        )
        log.require_held = self._require_held
        entries = op.input(_LOG_STEP, batches.flow(), log)
        heard = op.flat_map("heard", entries, self._heard)
        both: KeyedStream[Decoded | Heard] = op.merge("both", decoded, heard)
        return op.stateful_batch(self.stage_step, both, self._waiting_step)  # type: ignore[arg-type]

    def require_resumable(self) -> None:
        """Raise what resuming would refuse: the internal log, too, must hold what was not heard."""
        super().require_resumable()
        if self.directory.is_empty:
            return
        topic = self.fingerprint.sink_topic
        resumes = resuming(self.directory.recovery)
        at = resumes.offsets.get((f"{self._flow}.{_LOG_STEP}", part_name(0)), self._log_begin)
        with closing(self.client.reader(topic)) as reader:
            require_source_offset(topic, 0, at, reader.bounds([0])[0])

    @property
    def _log_begin(self) -> int:
        return min(offsets_of(self.fingerprint.sink_begin).values())

    def _heard(self, batch: Batch) -> Iterator[tuple[str, Heard]]:
        read = OwnEntries(self.fingerprint.sink_topic, self.seal, self.metrics, ASKING_KEY)
        asked = tuple(one for _, one in read(batch) if isinstance(one, Asking))
        if asked:
            for partition in self.fingerprint.own_partitions:
                yield part_name(partition), Heard(partition, asked)

    def _waiting_step(self, pointer: bytes | None) -> WaitingStep:
        return WaitingStep(self.stage, *self._parts(pointer), gate=self.gate)
