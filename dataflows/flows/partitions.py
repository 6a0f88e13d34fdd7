"""Read the source partition by partition, into a stage that keeps a row for every key.

    source ──▶ decode ──▶ stage ──▶ ... ──▶ sinks
                                └─▶ dead letters ──▶ dead-letter sink

Items are batches keyed by partition; nothing is exchanged between workers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Generic

import bytewax.operators as op
from bytewax.dataflow import Stream
from bytewax.operators import KeyedStream

from fugu.dataflows.base.batches import Batch, Decoded, Outgoing
from fugu.dataflows.flows.plan import Plan, Shard
from fugu.dataflows.kafka.source import part_name
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.stages.stage import Made, Stage
from fugu.dataflows.stages.stateful_step import Sanitize
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.former_rows import FormerRows

Former = Callable[[Fingerprint, int], FormerRows | None]
"""Gives what the version of Fugu before may have left in the row log of a partition."""


@dataclass(frozen=True, kw_only=True)
class PartitionsPlan(Plan, Generic[Made]):
    """Add the stage, and how records are read for it."""

    stage: Stage[Made]
    codec: Codec
    former: Former

    stage_step: ClassVar[str]
    reads_source: ClassVar[bool] = True

    def build(self) -> Shard:
        """Return the dataflow, whose reading is compiled before the first record waits for it."""
        self.codec.warm_up()
        return super().build()

    def items(self, batches: Stream[Batch]) -> KeyedStream[Made]:
        """Decode batches, and hand them to the stage."""
        decoded = op.map("decode", batches, self._decode)
        return op.stateful_batch(self.stage_step, decoded, self._step)

    def refused(self, made: Made) -> Outgoing:
        """Return the dead letters among what the stage has made."""
        with self.without_values("dead_letters", made.partition, made.dead.offsets):
            return self.publisher.dead_letters(made.partition, made.dead)

    def _decode(self, batch: Batch) -> tuple[str, Decoded]:
        with self.without_values("decode", batch.partition, batch.offsets):
            return part_name(batch.partition), self.codec.decode(batch)

    def _step(self, pointer: bytes | None) -> Sanitize[Made]:
        return Sanitize(
            self.stage,
            self.directory.rows,
            self.fingerprint.source_topic,
            self.metrics,
            pointer,
            self.finishing,
            self.writes,
            partial(self.former, self.fingerprint),
        )
