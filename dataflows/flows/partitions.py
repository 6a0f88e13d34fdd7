"""Read the source partition by partition, into a stage that keeps a row for every key.

    source ──▶ decode ──▶ stage ──▶ ... ──▶ sinks
                                └─▶ dead letters ──▶ dead-letter sink

Items are batches keyed by partition; nothing is exchanged between workers.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic

import bytewax.operators as op
import numpy as np
from bytewax.dataflow import Stream
from bytewax.operators import KeyedStream

from fugu.dataflows.base.batches import Batch, Decoded, Outgoing, Reason
from fugu.dataflows.base.metrics import TimesRead
from fugu.dataflows.flows.plan import DEAD_LETTER_SINK, Plan, Shard
from fugu.dataflows.flows.unknown_before import as_decided, unknown_before
from fugu.dataflows.kafka.source import part_name
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.json_fields import EARLIEST_MEANT
from fugu.dataflows.records.registered import Registered
from fugu.dataflows.stages.stage import Made, Stage
from fugu.dataflows.stages.stateful_step import Sanitize
from fugu.operators.columns import column_of


@dataclass(frozen=True, kw_only=True)
class PartitionsPlan(Plan, Generic[Made]):
    """Add the stage, and how records are read for it."""

    stage: Stage[Made]
    codec: Codec
    unknown: dict[int, frozenset[int]] = field(default_factory=dict, init=False)
    """Offsets of records whose schema was unknown before a restart."""

    reads_source: ClassVar[bool] = True

    @property
    def reads_headers(self) -> bool:
        """Return whether records are read with their headers."""
        return self.codec.reads_headers

    def is_ready(self, batch: Batch) -> bool:
        """Return whether the schemas of a batch are there."""
        return self.codec.is_ready(batch)

    def build(self) -> Shard:
        """Return the dataflow, compiled before the first record waits for it."""
        self.warm_up()
        if isinstance(self.codec.wire, Registered):
            [letters] = [one for one in self.outputs() if one.sink_step == DEAD_LETTER_SINK]
            self.unknown.update(unknown_before(self, self.resumes_at(letters)))
        return super().build()

    def warm_up(self) -> None:
        """Compile what reads records."""
        self.codec.warm_up()

    def items(self, batches: Stream[Batch]) -> KeyedStream[Made]:
        """Decode batches, and hand them to the stage."""
        decoded = op.map("decode", batches, self._decode)
        return op.stateful_batch(self.stage_step, decoded, self._step)

    def refused(self, made: Made) -> Outgoing:
        """Return the dead letters among what the stage has made."""
        with self.without_values("dead_letters", made.partition, made.dead.offsets):
            return self.publisher.dead_letters(made.partition, made.dead)

    def decoded(self, batch: Batch) -> Decoded:
        """Return what the stage reads of a batch."""
        with self.without_values("decode", batch.partition, batch.offsets):
            if self.publisher.origins is not None:
                self.publisher.origins.note(batch)
            decoded = self.codec.decode(as_decided(batch, self.unknown))
            self._note_times(decoded)
            return decoded

    def _decode(self, batch: Batch) -> tuple[str, Decoded]:
        return part_name(batch.partition), self.decoded(batch)

    def _note_times(self, decoded: Decoded) -> None:
        """Count times that nobody can have meant, where a field of the record holds them."""
        timestamp, dead = self.codec.timestamp, decoded.dead
        if timestamp is None:
            return
        small = int(np.count_nonzero(column_of(decoded.timestamps) < EARLIEST_MEANT))
        large = sum(
            name == timestamp.field and reason is Reason.OUTSIDE_DOMAIN
            for name, reason in zip(dead.fields, dead.reasons, strict=True)
        )
        standing, partition = self.metrics.standing, decoded.partition
        seen = standing.times_read.setdefault(partition, TimesRead())
        seen.add(len(decoded.offsets) + len(dead.offsets), small, large)
        if ahead := dead.reasons.count(Reason.TOO_FAR_AHEAD):
            before = standing.ahead_of_kafka.get(partition, 0)
            standing.ahead_of_kafka[partition] = before + ahead

    def _step(self, pointer: bytes | None) -> Sanitize[Made]:
        return Sanitize(self.stage, *self._parts(pointer))

    def _parts(self, pointer: bytes | None) -> tuple[Any, ...]:
        """Return what a step takes besides its stage."""
        return (
            self.directory.rows,
            self.fingerprint.source_topic,
            self.metrics,
            pointer,
            self.finishing,
            self.writes,
        )
