"""Move a state from disk into Kafka, with every budget, so that copies go on with it.

What ends the command is harmless. From the mark in the directory on, nothing on disk goes on with
the state; until the fingerprint is in the topic, nothing in Kafka does. Blocks without a
fingerprint count as nothing, and the next attempt takes them back.

STATE/moved.json   there from before the first block is written
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial

import orjson

from fugu.dataflows.base.errors import ConfigurationError, StartRefused
from fugu.dataflows.copies.merge_table import MergeTable
from fugu.dataflows.copies.sole_member import SoleMember, sole_member
from fugu.dataflows.copies.work import CopiedTable
from fugu.dataflows.flows.bounding import BoundingPlan
from fugu.dataflows.flows.found_partitioner import as_begun, replacing_partitioner
from fugu.dataflows.flows.given import Given
from fugu.dataflows.flows.merger import Merger
from fugu.dataflows.flows.merging import MergingPlan
from fugu.dataflows.flows.newest_copy import require_newest_copy, require_newest_merge
from fugu.dataflows.flows.planning import merge_of
from fugu.dataflows.flows.preparation import Preparation
from fugu.dataflows.flows.sections import aggregate_of, is_merged, reports_spending
from fugu.dataflows.flows.state_directories import root_directory
from fugu.dataflows.flows.stopped_merge import MergeOnDisk, stopped_merge
from fugu.dataflows.flows.stopped_state import StoppedState, alone_in, stopped_state
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.kafka.client import Client, CopyClient, Topic, identity_of
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.pipeline.mechanisms import columns_of
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.pipeline.topics import bounds_of, find_aggregate_topics, find_topics
from fugu.dataflows.stages.per_record import exhaustible
from fugu.dataflows.state.changelog import Chain, Ends, Place, Progress
from fugu.dataflows.state.directory import MOVED, MovedDirectory
from fugu.dataflows.state.durable_file import replace_durably
from fugu.dataflows.state.fingerprint import Fingerprint, check_same
from fugu.dataflows.state.row_table import RowTable
from fugu.dataflows.state.state_topic import StateTopic

_MILLISECONDS = 300_000
_MAY_CHANGE = ("state", "kafka", "metrics", "alert", "logs")


@dataclass(frozen=True)
class _Part:
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
                chain.keys, chain.later_bytes = [one.key for one in found], 2**62
                records = state.sealed(place, chain.append(table, progress))
                writer.put(state.topic.name, place, records)
                sole.commit(writer, {self.topic.name: {partition: progress.position}})

    def begin(self) -> None:
        """Let the state count."""
        _require_none_but(self.state.create(self.fingerprint), self)


def move(old: PipelineFile, new: PipelineFile) -> int:
    """Move the state of OLD, on disk, to where NEW says; return how many streams it has."""
    before = as_begun(old)
    partitioner = before.pipeline.source.partitioner
    after = new if partitioner == "auto" else replacing_partitioner(new, partitioner)
    require_only_another_store(before, after)
    root = root_directory(before)
    with alone_in(root), ExitStack() as owned:
        stopped = owned.enter_context(stopped_state(root.path, of=MovedDirectory))
        given = Given.by(after)
        require_newest_copy(given.client, before, stopped)
        merge = None
        if is_merged(before.pipeline):
            merge = owned.enter_context(stopped_merge(before, MovedDirectory))
            require_newest_merge(given.client, before, merge)
        preparation = Preparation(given, StopFlag(), None)
        parts = _parts(preparation, before, stopped, merge)
        first, state = parts[0], parts[0].state
        stored = state.stored()
        if stored is None:
            topic = {"topic": state.topic.name, "identity": state.topic.identity}
            replace_durably(root.path / MOVED, orjson.dumps(topic))
            assert given.copies is not None
            read = [part.topic for part in parts]
            with sole_member(given.copies, after.pipeline.name, *read) as sole:
                for part in parts:
                    part.write(given.copies, sole)
                for part in reversed(parts):
                    part.begin()
        else:
            _require_none_but(stored, first)
        return sum(map(len, first.tables.values()))


def _require_none_but(stored: Fingerprint, part: _Part) -> None:
    if stored != part.fingerprint:
        raise StartRefused(f"topic {part.state.topic.name} holds the state of something else")


def _parts(
    preparation: Preparation,
    before: PipelineFile,
    stopped: StoppedState,
    merge: MergeOnDisk | None,
) -> list[_Part]:
    """Return what each dataflow takes along; the first one's fingerprint says that all counts."""
    client, pipeline, state = preparation.client, preparation.pipeline, preparation.state_topic
    assert state is not None
    fingerprint = _of_all(stopped)
    if merge is None:
        topics, steps = find_topics(client, pipeline, fingerprint.partitions), StreamsPlan.steps
    else:
        topics, merging = find_aggregate_topics(client, pipeline, fingerprint.partitions)
        steps = BoundingPlan.steps
    check_same(fingerprint, preparation.fingerprint(topics, None, steps))
    names = [fingerprint.sink_topic, fingerprint.dead_letters_topic]
    names += [fingerprint.ledger_topic] if reports_spending(pipeline) else []
    positions = {int(partition): at for partition, at in stopped.stopped_at.items()}
    streams = _Part(
        topics.source,
        state,
        fingerprint,
        _tables(preparation, before, stopped, fingerprint.partitions),
        _progress(client, names, positions),
    )
    if merge is None:
        return [streams]
    check_same(merge.fingerprint, preparation.fingerprint(merging, None, MergingPlan.steps))
    own = [merge.fingerprint.sink_topic, merge.fingerprint.source_topic]
    return [
        streams,
        _Part(
            merging.source,
            state.of_merge(),
            merge.fingerprint,
            {0: _merge_table(preparation, merge, topics.source, fingerprint.partitions_at_first)},
            _progress(client, own, {0: merge.position}),
        ),
    ]


def _tables(
    preparation: Preparation, before: PipelineFile, stopped: StoppedState, partitions: int
) -> dict[int, CopiedTable]:
    mechanism = preparation.mechanism
    tables = stopped.tables(before, mechanism)
    columns, ends = columns_of(before.pipeline, mechanism), exhaustible(mechanism)
    return {p: tables.get(p, RowTable(columns, ends)) for p in range(partitions)}


def _merge_table(
    preparation: Preparation, on_disk: MergeOnDisk, source: Topic, begun: int
) -> MergeTable:
    operator = aggregate_of(preparation.pipeline)
    assert operator is not None
    merge = merge_of(preparation, operator, source, begun, waits=False)
    begin = partial(Merger, merge, on_disk.fingerprint.source_topic)
    return MergeTable(merge, begin, on_disk.state(merge))


def require_only_another_store(old: PipelineFile, new: PipelineFile) -> None:
    """Raise `ConfigurationError` unless two files differ in the store, and what goes with it."""
    if old.pipeline.state.in_kafka == new.pipeline.state.in_kafka:
        raise ConfigurationError(
            "a state is moved from a file with state.store: disk to one with state.store: kafka, "
            "or back; these two say the same"
        )
    present = {name: getattr(new.pipeline, name) for name in _MAY_CHANGE}
    if old.pipeline.model_copy(update=present) != new.pipeline:
        raise ConfigurationError(
            f"{new.path}: only {', '.join(_MAY_CHANGE)} may differ from {old.path}. Other changes "
            "are those of fugu migrate, before the state is moved"
        )


def _of_all(stopped: StoppedState) -> Fingerprint:
    """Return the fingerprint of all shards as one."""
    begins = {
        name: {p: at for own in stopped.fingerprints for p, at in getattr(own, name).items()}
        for name in ("source_begin", "sink_begin", "dead_letters_begin", "ledger_begin")
    }
    upgraded = {p: at for own in stopped.fingerprints for p, at in own.upgraded_at.items()}
    epochs = zip(*(own.rotated_at for own in stopped.fingerprints), strict=True)
    rotated = [{p: at for own in epoch for p, at in own.items()} for epoch in epochs]
    changed = {**begins, "upgraded_at": upgraded, "rotated_at": rotated, "shard": 0, "shards": 1}
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
