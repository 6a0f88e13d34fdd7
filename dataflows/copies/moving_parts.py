"""Gather what every dataflow of a pipeline takes along when its state is moved into Kafka."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.copies.last_change import LastChange
from fugu.dataflows.copies.merge_table import MergeTable
from fugu.dataflows.copies.sole_member import SoleMember
from fugu.dataflows.copies.work import CopiedTable
from fugu.dataflows.flows.bounding import BoundingPlan
from fugu.dataflows.flows.merger import Merger
from fugu.dataflows.flows.merging import MergingPlan
from fugu.dataflows.flows.planning import merge_of
from fugu.dataflows.flows.policies import PoliciesPlan
from fugu.dataflows.flows.preparation import Preparation
from fugu.dataflows.flows.sections import aggregate_of, reports_spending
from fugu.dataflows.flows.stopped_beside import BesideShards, MergeOnDisk
from fugu.dataflows.flows.stopped_state import StoppedState
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.kafka.client import Client, CopyClient, Topic, identity_of
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import columns_of
from fugu.dataflows.pipeline.topics import (
    Topics,
    bounds_of,
    find_aggregate_topics,
    find_policies,
    find_topics,
)
from fugu.dataflows.stages.per_record import exhaustible
from fugu.dataflows.state.changelog import Chain, Ends, Place, Progress
from fugu.dataflows.state.fingerprint import Fingerprint, check_same
from fugu.dataflows.state.row_table import RowTable
from fugu.dataflows.state.state_topic import StateTopic

_MILLISECONDS = 300_000


@dataclass(frozen=True)
class StateOnDisk:
    """Hold what a pipeline has on disk: its shards and, of an aggregate, what is beside them."""

    file: PipelineFile
    shards: StoppedState
    merge: MergeOnDisk | None = None
    policies: BesideShards | None = None


@dataclass(frozen=True)
class MovingPart:
    """Hold what one dataflow takes along: tables, and how far it is, by partition of `topic`."""

    topic: Topic
    state: StateTopic
    fingerprint: Fingerprint
    tables: Mapping[int, CopiedTable]
    progress: Mapping[int, Progress]

    def write(self, client: CopyClient, sole: SoleMember) -> None:
        """Write the table of every partition and its position, each in one transaction."""
        state, identity = self.state, f"{identity_of(self.state.pipeline)}.creation"
        with closing(client.copy_writer(identity, _MILLISECONDS)) as writer:
            for partition, table in self.tables.items():
                place, progress = state.place(partition), self.progress[partition]
                found = _found(client, state.topic.name, place)
                chain = Chain(place, max((one.generation for one in found), default=0))
                chain.keys = [one.key for one in found]
                chain.renew()
                state.put(writer, {place: chain.append(table, progress)})
                sole.commit(writer, {self.topic.name: {partition: progress.position}})

    def begin(self) -> None:
        """Let the state count."""
        self.require_own(self.state.create(self.fingerprint))

    def require_own(self, stored: Fingerprint) -> None:
        """Raise `StartRefused` unless this is what is stored."""
        if stored != self.fingerprint:
            raise StartRefused(f"topic {self.state.topic.name} holds the state of something else")


def moving_parts(preparation: Preparation, on_disk: StateOnDisk) -> list[MovingPart]:
    """Return what each dataflow takes along; the first one's fingerprint says that all counts."""
    fingerprint, client = of_all_shards(on_disk.shards), preparation.client
    if on_disk.merge is None:
        topics = find_topics(client, preparation.pipeline, fingerprint.partitions)
        return [_sources(preparation, on_disk, fingerprint, topics, StreamsPlan.steps)]
    found = find_aggregate_topics(client, preparation.pipeline, fingerprint.partitions)
    summing, merging = found
    parts = [
        _sources(preparation, on_disk, fingerprint, summing, BoundingPlan.steps),
        _merge(preparation, on_disk.merge, summing.source, merging, fingerprint),
    ]
    if on_disk.policies is not None:
        parts.append(_policies(preparation, on_disk.policies, summing))
    return parts


def _sources(
    preparation: Preparation,
    on_disk: StateOnDisk,
    fingerprint: Fingerprint,
    topics: Topics,
    steps: list[str],
) -> MovingPart:
    """Return what reads the source."""
    assert preparation.state_topic is not None
    check_same(fingerprint, preparation.fingerprint(topics, None, steps))
    outputs = [fingerprint.sink_topic, fingerprint.dead_letters_topic]
    outputs += [fingerprint.ledger_topic] if reports_spending(preparation.pipeline) else []
    positions = {int(partition): at for partition, at in on_disk.shards.stopped_at.items()}
    return MovingPart(
        topics.source,
        preparation.state_topic,
        fingerprint,
        _tables(preparation, on_disk.file, on_disk.shards, fingerprint.partitions),
        _progress(preparation.client, outputs, positions),
    )


def _merge(
    preparation: Preparation,
    on_disk: MergeOnDisk,
    source: Topic,
    topics: Topics,
    shards: Fingerprint,
) -> MovingPart:
    """Return what merges."""
    operator, fingerprint = aggregate_of(preparation.pipeline), on_disk.fingerprint
    assert operator is not None
    assert preparation.state_topic is not None
    check_same(fingerprint, preparation.fingerprint(topics, None, MergingPlan.steps))
    waits = preparation.pipeline.source.policies is not None
    merge = merge_of(preparation, operator, source, shards.partitions_at_first, waits=waits)
    begin = partial(Merger, merge, fingerprint.source_topic)
    outputs = [fingerprint.sink_topic, fingerprint.source_topic]
    return MovingPart(
        topics.source,
        preparation.state_topic.of_merge(),
        fingerprint,
        {0: MergeTable(merge, begin, on_disk.state(merge))},
        _progress(preparation.client, outputs, {0: on_disk.position}),
    )


def _policies(preparation: Preparation, on_disk: BesideShards, summing: Topics) -> MovingPart:
    """Return what reads policies that change, which keeps nothing but how far it is."""
    fingerprint = on_disk.fingerprint
    assert preparation.state_topic is not None
    policies = find_policies(preparation.client, preparation.pipeline, fingerprint.source_topic)
    topics = Topics(policies, summing.sink, summing.dead_letters)
    check_same(fingerprint, preparation.fingerprint(topics, None, PoliciesPlan.steps))
    outputs = [fingerprint.sink_topic, fingerprint.dead_letters_topic]
    return MovingPart(
        policies,
        preparation.state_topic.of_policies(),
        fingerprint,
        {0: LastChange()},
        _progress(preparation.client, outputs, {0: on_disk.position}),
    )


def _tables(
    preparation: Preparation, before: PipelineFile, stopped: StoppedState, partitions: int
) -> dict[int, CopiedTable]:
    mechanism = preparation.mechanism
    tables = stopped.tables(before, mechanism)
    columns, ends = columns_of(before.pipeline, mechanism), exhaustible(mechanism)
    return {p: tables.get(p, RowTable(columns, ends)) for p in range(partitions)}


def of_all_shards(stopped: StoppedState) -> Fingerprint:
    """Return the fingerprint of all shards as one."""
    begins = {
        name: {p: at for own in stopped.fingerprints for p, at in getattr(own, name).items()}
        for name in ("source_begin", "sink_begin", "dead_letters_begin", "ledger_begin")
    }
    epochs = zip(*(own.rotated_at for own in stopped.fingerprints), strict=True)
    rotated = [{p: at for own in epoch for p, at in own.items()} for epoch in epochs]
    changed = {**begins, "rotated_at": rotated, "shard": 0, "shards": 1}
    return stopped.first.model_copy(update=changed)


def _progress(
    client: Client, outputs: Sequence[str], positions: Mapping[int, int]
) -> dict[int, Progress]:
    """Return where every partition stands, and where all of its outputs end now."""
    ends: dict[int, Ends] = {partition: {} for partition in positions}
    for name in outputs:
        topic = client.topic(name) if name else None
        if topic is None:
            continue
        bounds = bounds_of(client, topic, list(range(topic.partitions)))
        for partition in positions:
            place = partition % topic.partitions
            ends[partition][name] = {str(place): bounds[place].end}
    return {
        partition: Progress(
            position=position,
            ends=ends[partition],
            published=dict.fromkeys(ends[partition], 0),
            instance="moved",
            epoch=0,
        )
        for partition, position in positions.items()
    }


def _found(client: CopyClient, topic: str, partition: int) -> list[Place]:
    """Return what an attempt that was cut short has left."""
    with closing(client.reader(topic)) as reader:
        bounds = reader.bounds([partition])[partition]
        batches = reader.read_range(partition, bounds.start, bounds.end)
        places = {Place.of(key) for batch in batches for key in batch.keys}
    return [place for place in places if place is not None]
