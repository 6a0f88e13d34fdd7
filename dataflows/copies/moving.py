"""Move a state from disk into Kafka, with every budget, so that copies go on with it.

What ends the command is harmless. From the mark in the directory on, nothing on disk goes on with
the state; until the fingerprint is in the topic, nothing in Kafka does. Blocks without a
fingerprint count as nothing, and the next attempt takes them back.

STATE/moved.json   there from before the first block is written
"""

from collections.abc import Mapping
from contextlib import closing

import orjson

from fugu.dataflows.base.errors import ConfigurationError, StartRefused
from fugu.dataflows.copies.sole_member import SoleMember, sole_member
from fugu.dataflows.flows.found_partitioner import as_begun, replacing_partitioner
from fugu.dataflows.flows.given import Given
from fugu.dataflows.flows.newest_copy import require_newest_copy
from fugu.dataflows.flows.preparation import Preparation
from fugu.dataflows.flows.sections import is_merged, reports_spending
from fugu.dataflows.flows.state_directories import root_directory
from fugu.dataflows.flows.stopped_state import StoppedState, alone_in, stopped_state
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.kafka.client import CopyClient, identity_of
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.pipeline.mechanisms import columns_of
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.pipeline.topics import bounds_of, find_topics
from fugu.dataflows.stages.per_record import exhaustible
from fugu.dataflows.state.changelog import Chain, Ends, Place, Progress
from fugu.dataflows.state.directory import MOVED, MovedDirectory
from fugu.dataflows.state.durable_file import replace_durably
from fugu.dataflows.state.fingerprint import Fingerprint, check_same
from fugu.dataflows.state.row_table import RowTable
from fugu.dataflows.state.state_topic import StateTopic

_MILLISECONDS = 300_000
_MAY_CHANGE = ("state", "kafka", "metrics", "alert", "logs")


def move(old: PipelineFile, new: PipelineFile) -> int:
    """Move the state of OLD, on disk, to where NEW says; return how many streams it has."""
    before = as_begun(old)
    partitioner = before.pipeline.source.partitioner
    after = new if partitioner == "auto" else replacing_partitioner(new, partitioner)
    require_only_another_store(before, after)
    root = root_directory(before)
    with alone_in(root), stopped_state(root.path, of=MovedDirectory) as stopped:
        fingerprint = _of_all(stopped)
        given = Given.by(after)
        require_newest_copy(given.client, before, stopped)
        preparation = Preparation(given, StopFlag(), None)
        topics = find_topics(given.client, after.pipeline, fingerprint.partitions)
        check_same(fingerprint, preparation.fingerprint(topics, None, StreamsPlan.steps))
        state = preparation.state_topic
        assert state is not None
        assert given.copies is not None
        tables = stopped.tables(before, preparation.mechanism)
        stored = state.stored()
        if stored is not None and stored != fingerprint:
            raise StartRefused(f"topic {state.topic.name} holds the state of something else")
        if stored is None:
            topic = {"topic": state.topic.name, "identity": state.topic.identity}
            replace_durably(root.path / MOVED, orjson.dumps(topic))
            mechanism = preparation.mechanism
            columns, ends = columns_of(before.pipeline, mechanism), exhaustible(mechanism)
            rows = {
                p: tables.get(p, RowTable(columns, ends)) for p in range(fingerprint.partitions)
            }
            progress = _progress(preparation, fingerprint, stopped)
            with sole_member(given.copies, after.pipeline.name, topics.source) as sole:
                _write(given.copies, state, rows, progress, sole)
                state.create(fingerprint)
        return sum(map(len, tables.values()))


def require_only_another_store(old: PipelineFile, new: PipelineFile) -> None:
    """Raise `ConfigurationError` unless two files differ in the store, and what goes with it."""
    if old.pipeline.state.in_kafka == new.pipeline.state.in_kafka:
        raise ConfigurationError(
            "a state is moved from a file with state.store: disk to one with state.store: kafka, "
            "or back; these two say the same"
        )
    if is_merged(old.pipeline):
        raise ConfigurationError(
            f"{old.path}: the state of {old.pipeline.operator.kind}, which merges all partitions, "
            "cannot be moved into Kafka yet; go on with store: disk"
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
    preparation: Preparation, fingerprint: Fingerprint, stopped: StoppedState
) -> dict[int, Progress]:
    """Return where every partition stands, and where all of its outputs end now."""
    client, pipeline = preparation.client, preparation.pipeline
    own = list(range(fingerprint.partitions))
    names = [fingerprint.sink_topic, fingerprint.dead_letters_topic]
    ends: dict[int, Ends] = {partition: {} for partition in own}
    for name in [*names, *([fingerprint.ledger_topic] if reports_spending(pipeline) else [])]:
        topic = client.topic(name) if name else None
        if topic is None:
            continue
        bounds = bounds_of(client, topic, list(range(topic.partitions)))
        for partition in own:
            place = partition % topic.partitions
            ends[partition][name] = {str(place): bounds[place].end}
    return {
        partition: Progress(
            position=stopped.stopped_at[str(partition)],
            ends=ends[partition],
            published=dict.fromkeys(ends[partition], 0),
            instance="moved",
            epoch=0,
        )
        for partition in own
    }


def _write(
    client: CopyClient,
    state: StateTopic,
    tables: Mapping[int, RowTable],
    progress: Mapping[int, Progress],
    sole: SoleMember,
) -> None:
    """Write the table of every partition and its position, each in one transaction."""
    identity = f"{identity_of(state.pipeline)}.creation"
    with closing(client.copy_writer(identity, _MILLISECONDS)) as writer:
        for partition, table in tables.items():
            found = _found(client, state.topic.name, partition)
            chain = Chain(partition, max((one.generation for one in found), default=0))
            chain.keys, chain.later_bytes = [one.key for one in found], 2**62
            records = state.sealed(partition, chain.append(table, progress[partition]))
            writer.put(state.topic.name, partition, records)
            sole.commit(writer, {partition: progress[partition].position})


def _found(client: CopyClient, topic: str, partition: int) -> list[Place]:
    """Return what an attempt that was cut short has left."""
    with closing(client.reader(topic)) as reader:
        bounds = reader.bounds([partition])[partition]
        batches = reader.read_range(partition, bounds.start, bounds.end)
        places = {Place.of(key) for batch in batches for key in batch.keys}
    return [place for place in places if place is not None]
