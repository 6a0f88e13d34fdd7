"""The dataflow: source, decode, sanitize, publish.

    source ──▶ decode ──▶ sanitize ──▶ releases ──────▶ sink
                                   ├─▶ dead letters ──▶ dead-letter sink
                                   └─▶ spending ──────▶ ledger, if there is one

Items are batches keyed by partition; nothing is exchanged between workers.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import bytewax.operators as op
import numpy as np
from bytewax.dataflow import Dataflow
from bytewax.operators import KeyedStream

from fugu.dataflows.base.batches import Batch, Decoded, Outgoing, Sanitized
from fugu.dataflows.base.errors import without_values
from fugu.dataflows.base.metrics import STREAMS_LIMIT, Metrics
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.kafka.client import Client, Topic, Writer
from fugu.dataflows.kafka.sink import KafkaSink, Shared
from fugu.dataflows.kafka.source import KafkaSource, StopFlag, part_name
from fugu.dataflows.publishing.entries import is_stream_of
from fugu.dataflows.publishing.envelope import Publisher
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.deduplication import Deduplication
from fugu.dataflows.stages.admission import Admission
from fugu.dataflows.stages.displaced import TickLift
from fugu.dataflows.stages.per_record import Lift
from fugu.dataflows.stages.series import SeriesLift
from fugu.dataflows.stages.stateful_step import Sanitize
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.former_rows import FormerRows
from fugu.operators.budget import Budgeted
from fugu.operators.mechanism import Array, Mechanism
from fugu.operators.randomness import WORTH_COMPILING, DrawScope
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.temporal.temporal_perturbation import End, TemporalPerturbation

STEPS = ["source", "decode", "sanitize", "releases", "dead_letters", "sink", "dead_letter_sink"]
"""Names of the steps; bytewax identifies state by them, so they never change. With a ledger, there
are `spending` and `ledger_sink` too."""


Former = Callable[[Fingerprint, int], FormerRows | None]
"""Gives what the version of Fugu before may have left in the row log of a partition."""


@dataclass(frozen=True)
class Plan:
    """Everything the dataflow of one shard is made of, resolved and checked."""

    name: str
    mechanism: Mechanism
    codec: Codec
    scope: DrawScope
    admission: Admission
    deduplication: Deduplication | None
    publisher: Publisher
    client: Client
    directory: StateDirectory
    fingerprint: Fingerprint
    max_batch: int
    stop: StopFlag
    ticks: Ticks | None
    finishing: End | None
    ledger: Topic | None
    former: Former
    metrics: Metrics = field(default_factory=Metrics)


@dataclass(frozen=True)
class Shard:
    """The dataflow of one shard, where its source stands, and where it writes to."""

    dataflow: Dataflow
    source: KafkaSource
    sinks: tuple[KafkaSink, ...]

    @property
    def stopped_at(self) -> dict[int, int] | None:
        """The source offsets to be read next; None while releases of before are still awaited: it
        stopped, but as after a crash, a replay has to go on."""
        caught_up = all(sink.has_caught_up(self.source.waiting) for sink in self.sinks)
        return self.source.positions if caught_up else None


def build(plan: Plan) -> Shard:
    """The dataflow of a plan."""
    fingerprint = plan.fingerprint
    topic, source = fingerprint.source_topic, fingerprint.source_identity
    writer = plan.client.writer(plan.name)
    for partition in fingerprint.own_partitions:
        plan.metrics.put(STREAMS_LIMIT, plan.admission.max_keys, topic, partition)

    def decode(batch: Batch) -> tuple[str, Decoded]:
        with without_values("decode", topic, batch.partition, batch.offsets):
            return part_name(batch.partition), plan.codec.decode(batch)

    lift = _lift(plan, source)

    def sanitize(pointer: bytes | None) -> Sanitize[Sanitized]:
        rows = plan.directory.rows
        former = partial(plan.former, fingerprint)
        return Sanitize(lift, rows, topic, plan.metrics, pointer, plan.finishing, former)

    def releases(sanitized: Sanitized) -> Outgoing:
        with without_values("releases", topic, sanitized.partition, sanitized.offsets):
            return plan.publisher.releases(sanitized)

    def dead_letters(sanitized: Sanitized) -> Outgoing:
        with without_values("dead_letters", topic, sanitized.partition, sanitized.dead.offsets):
            return plan.publisher.dead_letters(sanitized.partition, sanitized.dead)

    flow = Dataflow(plan.name.replace(".", "_"))
    reader = plan.client.reader(topic)
    begin = offsets_of(fingerprint.source_begin)
    kafka_source = KafkaSource(topic, begin, reader, plan.max_batch, plan.stop, plan.metrics)
    decoded = op.map("decode", op.input("source", flow, kafka_source), decode)
    sanitized = op.stateful_batch("sanitize", decoded, sanitize)
    sink = KafkaSink(
        plan.client,
        writer,
        fingerprint.sink_topic,
        offsets_of(fingerprint.sink_begin),
        plan.publisher.release_ids if plan.ticks is None and plan.finishing is None else None,
        plan.metrics,
    )
    op.output("sink", op.map_value("releases", sanitized, releases), sink)
    dead_letter_sink = KafkaSink(
        plan.client,
        writer,
        fingerprint.dead_letters_topic,
        offsets_of(fingerprint.dead_letters_begin),
        plan.publisher.dead_letter_ids,
        plan.metrics,
    )
    op.output(
        "dead_letter_sink",
        op.map_value("dead_letters", sanitized, dead_letters),
        dead_letter_sink,
    )
    if plan.ledger is not None:
        _report_spending(plan, plan.ledger, writer, sanitized)
    return Shard(flow, kafka_source, (sink, dead_letter_sink))


def _lift(plan: Plan, source: str) -> Lift | TickLift | SeriesLift:
    if plan.ticks is None:
        lift = Lift(plan.mechanism, plan.scope, source, plan.admission, plan.deduplication)
        lift.warm_up(_made_up(plan))
        return lift
    if isinstance(plan.mechanism, LocalRealTimeRelease):
        return SeriesLift(plan.mechanism, plan.scope, source, plan.admission, plan.ticks)
    assert isinstance(plan.mechanism, TemporalPerturbation)
    return TickLift(plan.mechanism, plan.scope, source, plan.admission, plan.ticks)


def _made_up(plan: Plan) -> Array:
    """The first symbol for some streams, as often as one has to be released; nothing where values
    are no symbols."""
    inside = plan.mechanism.mechanism if isinstance(plan.mechanism, Budgeted) else plan.mechanism
    records = inside.window if isinstance(inside, BatchedRelease) else 1
    symbols = isinstance(plan.codec.domain, Alphabet)
    return np.zeros(WORTH_COMPILING * records if symbols else 0, dtype=plan.codec.domain.dtype)


def _report_spending(
    plan: Plan, ledger: Topic, writer: Writer, sanitized: KeyedStream[Sanitized]
) -> None:
    def spending(sanitized: Sanitized) -> Outgoing:
        with without_values(
            "spending", plan.fingerprint.source_topic, sanitized.partition, sanitized.offsets
        ):
            return plan.publisher.spending(sanitized)

    op.output(
        "ledger_sink",
        op.map_value("spending", sanitized, spending),
        KafkaSink(
            plan.client,
            writer,
            ledger.name,
            offsets_of(plan.fingerprint.ledger_begin),
            plan.publisher.ledger_ids,
            plan.metrics,
            Shared(ledger.partitions, partial(is_stream_of, plan.name)),
        ),
    )


def offsets_of(offsets: dict[str, int]) -> dict[int, int]:
    """By partition, as a fingerprint holds them."""
    return {int(partition): offset for partition, offset in offsets.items()}
