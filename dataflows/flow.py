"""The dataflow: source, decode, sanitize, publish.

    source ──▶ decode ──▶ sanitize ──▶ releases ──────▶ sink
                                   └─▶ dead letters ──▶ dead-letter sink

Items are batches keyed by partition; nothing is exchanged between workers.
"""

from dataclasses import dataclass

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.operators import StatefulBatchLogic

from dataflows.batches import Batch, Decoded, Outgoing, Sanitized
from dataflows.codec import SymbolCodec
from dataflows.errors import without_values
from dataflows.fingerprint import Fingerprint, StateDirectory
from dataflows.kafka.client import Client
from dataflows.kafka.sink import KafkaSink
from dataflows.kafka.source import KafkaSource, StopFlag, part_names
from dataflows.lift import Lift
from dataflows.publish import Publisher
from dataflows.state import RowTable
from operators.mechanism import Mechanism
from operators.randomness import DrawScope

STEPS = ["source", "decode", "sanitize", "releases", "dead_letters", "sink", "dead_letter_sink"]
"""Names of the steps; bytewax identifies state by them, so they never change."""


@dataclass(frozen=True)
class Plan:
    """Everything a dataflow is made of, resolved and checked."""

    name: str
    mechanism: Mechanism
    codec: SymbolCodec
    scope: DrawScope
    publisher: Publisher
    client: Client
    directory: StateDirectory
    fingerprint: Fingerprint
    max_batch: int
    stop: StopFlag


def build(plan: Plan) -> Dataflow:
    """The dataflow of a plan."""
    fingerprint = plan.fingerprint
    topic, source = fingerprint.source_topic, fingerprint.source_identity
    names = part_names(fingerprint.partitions)
    writer = plan.client.writer()

    def decode(batch: Batch) -> tuple[str, Decoded]:
        with without_values("decode", topic, batch.partition, batch.offsets):
            return names[batch.partition], plan.codec.decode(batch)

    def sanitize(state: bytes | None) -> "Sanitize":
        table = (
            RowTable(plan.mechanism) if state is None else RowTable.decode(plan.mechanism, state)
        )
        return Sanitize(Lift(plan.mechanism, plan.scope, source, table), topic)

    def releases(sanitized: Sanitized) -> Outgoing:
        with without_values("releases", topic, sanitized.partition, sanitized.offsets):
            return plan.publisher.releases(sanitized)

    def dead_letters(sanitized: Sanitized) -> Outgoing:
        with without_values("dead_letters", topic, sanitized.partition, sanitized.dead.offsets):
            return plan.publisher.dead_letters(sanitized)

    flow = Dataflow(plan.name.replace(".", "_"))
    reader = plan.client.reader(topic)
    batches = op.input(
        "source",
        flow,
        KafkaSource(topic, fingerprint.source_begin, reader, plan.max_batch, plan.stop),
    )
    decoded = op.map("decode", batches, decode)
    sanitized = op.stateful_batch("sanitize", decoded, sanitize)
    op.output(
        "sink",
        op.map_value("releases", sanitized, releases),
        KafkaSink(
            plan.client,
            writer,
            fingerprint.sink_topic,
            fingerprint.sink_begin,
            plan.publisher.release_ids,
        ),
    )
    op.output(
        "dead_letter_sink",
        op.map_value("dead_letters", sanitized, dead_letters),
        KafkaSink(
            plan.client,
            writer,
            fingerprint.dead_letters_topic,
            fingerprint.dead_letters_begin,
            plan.publisher.dead_letter_ids,
        ),
    )
    return flow


class Sanitize(StatefulBatchLogic[Decoded, Sanitized, bytes]):
    """The mechanism over one partition; its state is the partition's row table."""

    def __init__(self, lift: Lift, topic: str) -> None:
        self._lift = lift
        self._topic = topic

    def on_batch(self, values: list[Decoded]) -> tuple[list[Sanitized], bool]:
        """Sanitize every batch, in order."""
        out = []
        for decoded in values:
            with without_values("sanitize", self._topic, decoded.partition, decoded.offsets):
                out.append(self._lift(decoded))
        return out, StatefulBatchLogic.RETAIN

    def snapshot(self) -> bytes:
        """The row table as bytes."""
        return self._lift.table.encode()
