"""The two dataflows of an aggregate: contributions to partial sums, and partial sums to releases.

source ──▶ decode ──▶ bound ──▶ partials ──▶ internal log          (every shard)
                            └─▶ dead letters
internal log ──▶ read ──▶ merge ──▶ releases ──▶ sink              (one owner)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.operators import StatefulBatchLogic

from fugu.dataflows.base.batches import Batch, Decoded, Outgoing
from fugu.dataflows.base.errors import without_values
from fugu.dataflows.base.metrics import Metrics
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.flows.flow import Former, Shard, offsets_of
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.sink import KafkaSink, Shared
from fugu.dataflows.kafka.source import KafkaSource, StopFlag, part_name
from fugu.dataflows.publishing.envelope import Publisher
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.contributions import Figures
from fugu.dataflows.stages.bounding import Bounded, Bounding
from fugu.dataflows.stages.log_entries import Entry, partition_key, read_entry
from fugu.dataflows.stages.merging import Merge
from fugu.dataflows.stages.open_ticks import OpenTicks
from fugu.dataflows.stages.stateful_step import Sanitize
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.row_log import BlockLog
from fugu.operators.mechanism import Kind, Releases
from fugu.operators.temporal.temporal_perturbation import End

BOUNDING_STEPS = [
    "source",
    "decode",
    "bound",
    "partials",
    "dead_letters",
    "log",
    "dead_letter_sink",
]
MERGING_STEPS = ["log", "read", "merge", "releases", "sink"]
"""Names of the steps; bytewax identifies state by them, so they never change."""


@dataclass(frozen=True)
class BoundingPlan:
    """Everything the first dataflow of one shard is made of; its sink is the internal log."""

    name: str
    bounding: Bounding
    codec: Codec
    publisher: Publisher
    client: Client
    directory: StateDirectory
    fingerprint: Fingerprint
    max_batch: int
    stop: StopFlag
    former: Former
    finishing: End | None = None
    metrics: Metrics = field(default_factory=Metrics)


@dataclass(frozen=True)
class MergingPlan:
    """Everything the second dataflow is made of; its source is the internal log."""

    name: str
    merge: Merge
    ticks: Ticks
    figures: Figures
    publisher: Publisher
    client: Client
    directory: StateDirectory
    fingerprint: Fingerprint
    max_batch: int
    stop: StopFlag
    finishing: End | None = None
    metrics: Metrics = field(default_factory=Metrics)


def build_bounding(plan: BoundingPlan) -> Shard:
    """Bound contributions, and sum those of closed ticks."""
    fingerprint, ticks = plan.fingerprint, plan.bounding.ticks
    topic, writer = fingerprint.source_topic, plan.client.writer(plan.name)

    def decode(batch: Batch) -> tuple[str, Decoded]:
        with without_values("decode", topic, batch.partition, batch.offsets):
            return part_name(batch.partition), plan.codec.decode(batch)

    def bound(pointer: bytes | None) -> Sanitize[Bounded]:
        rows, former = plan.directory.rows, partial(plan.former, fingerprint)
        return Sanitize(plan.bounding, rows, topic, plan.metrics, pointer, former=former)

    def partials(bounded: Bounded) -> Outgoing:
        closed = bounded.partials
        keys = [partition_key(bounded.partition)] * len(closed)
        return Outgoing(
            partition=bounded.partition,
            keys=list(keys),
            values=[one.encoded() for one in closed],
            headers=plan.publisher.tick_headers(
                fingerprint.sink_identity, keys, [one.tick for one in closed]
            ),
            timestamps=[ticks.end(one.tick) for one in closed],
            positions=[one.tick for one in closed],
        )

    def dead_letters(bounded: Bounded) -> Outgoing:
        with without_values("dead_letters", topic, bounded.partition, bounded.dead.offsets):
            return plan.publisher.dead_letters(bounded.partition, bounded.dead)

    flow = Dataflow(f"{plan.name}.bounding".replace(".", "_"))
    reader = plan.client.reader(topic)
    begin = offsets_of(fingerprint.source_begin)
    source = KafkaSource(topic, begin, reader, plan.max_batch, plan.stop, plan.metrics)
    decoded = op.map("decode", op.input("source", flow, source), decode)
    bounded = op.stateful_batch("bound", decoded, bound)
    log = KafkaSink(
        plan.client,
        writer,
        fingerprint.sink_topic,
        offsets_of(fingerprint.sink_begin),
        None,
        plan.metrics,
        Shared(1, lambda part, key: key == partition_key(part)),
    )
    op.output("log", op.map_value("partials", bounded, partials), log)
    dead_letter_sink = KafkaSink(
        plan.client,
        writer,
        fingerprint.dead_letters_topic,
        offsets_of(fingerprint.dead_letters_begin),
        plan.publisher.dead_letter_ids,
        plan.metrics,
        Shared(fingerprint.partitions, lambda part, key: key is None),
    )
    op.output(
        "dead_letter_sink",
        op.map_value("dead_letters", bounded, dead_letters),
        dead_letter_sink,
    )
    return Shard(flow, source, (log, dead_letter_sink))


def build_merging(plan: MergingPlan) -> Shard:
    """Release ticks that every partition has closed."""
    fingerprint, topic = plan.fingerprint, plan.fingerprint.source_topic

    def read(batch: Batch) -> tuple[str, list[Entry]]:
        place = f"topic {topic}, partition 0, offset"
        return part_name(0), [
            read_entry(value, f"{place} {offset}")
            for offset, value in zip(batch.offsets, batch.values, strict=True)
        ]

    def releases(ticks: Sequence[tuple[int, Releases]]) -> Outgoing:
        with without_values("releases", topic, 0, []):
            return _outgoing(plan, ticks)

    flow = Dataflow(f"{plan.name}.merging".replace(".", "_"))
    begin = offsets_of(fingerprint.source_begin)
    reader = plan.client.reader(topic)
    source = KafkaSource(topic, begin, reader, plan.max_batch, plan.stop, plan.metrics)
    entries = op.map("read", op.input("log", flow, source), read)
    merged = op.stateful_batch(
        "merge", entries, partial(Merging, plan.merge, topic, plan.directory.rows)
    )
    sink = KafkaSink(
        plan.client,
        plan.client.writer(plan.name),
        fingerprint.sink_topic,
        offsets_of(fingerprint.sink_begin),
        None,
        plan.metrics,
    )
    op.output("sink", op.map_value("releases", merged, releases), sink)
    return Shard(flow, source, (sink,))


class Merging(StatefulBatchLogic[list[Entry], list[tuple[int, Releases]], bytes]):
    """The merge. Its state goes into bytewax's snapshot as it is, for it has no row per user; but
    for sums of ticks that are not complete, which it points at."""

    def __init__(self, merge: Merge, topic: str, directory: Path, content: bytes | None) -> None:
        self._merge = merge
        self._topic = topic
        self._sums = BlockLog(directory, 0, OpenTicks(), of="sums")
        self._state = merge.start() if content is None else merge.restored(content, self._loaded)
        self._sums.table = self._state.open

    def on_batch(self, values: list[list[Entry]]) -> tuple[list[list[tuple[int, Releases]]], bool]:
        """Take entries in, in the order of the log."""
        with without_values("merge", self._topic, 0, []):
            released = [
                complete
                for entries in values
                for one in entries
                for complete in self._merge(self._state, one)
            ]
        return [released], StatefulBatchLogic.RETAIN

    def snapshot(self) -> bytes:
        """All that a step may change, and where the sums are."""
        return self._state.encoded(self._sums.append().decode())

    def _loaded(self, sums: str) -> OpenTicks:
        self._sums.load(sums.encode())
        return self._sums.table


def _outgoing(plan: MergingPlan, ticks: Sequence[tuple[int, Releases]]) -> Outgoing:
    keys, values, timestamps, positions = [], [], [], []
    for tick, releases in ticks:
        notes = {name: note[0].tolist() for name, note in releases.annotations.items()}
        start, end = plan.ticks.end(tick - 1), plan.ticks.end(tick)
        nothing = releases.kinds is not None and releases.kinds[0] == Kind.SUPPRESSED
        written = plan.figures.write(start, None if nothing else releases.values[0], notes)
        keys += plan.figures.keys
        values += written
        timestamps += [end] * len(written)
        positions += [tick] * len(written)
    return Outgoing(
        partition=0,
        keys=list(keys) if plan.publisher.key_policy != "none" else [None] * len(keys),
        values=values,
        headers=plan.publisher.tick_headers(plan.publisher.source, keys, positions),
        timestamps=timestamps,
        positions=positions,
    )
