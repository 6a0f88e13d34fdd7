"""Move every stream to the partition that producers send its key to now, with its budget.

For a source topic that was extended, for producers that changed their partitioner, and for another
number of shards. Rows are moved as they are: beliefs, ledgers, what is repeated. The new
directories are written beside the old ones and exchanged together, so that no key ever has two
budgets; a command that was killed is run once more.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
from rich.console import Console

from fugu.dataflows.base.errors import ConfigurationError, KafkaUnavailable, StartRefused
from fugu.dataflows.commands.arguments import PipelineArgument
from fugu.dataflows.commands.state import alone, newest_tables, require_graceful_stop
from fugu.dataflows.flows.first_start import own_begin
from fugu.dataflows.flows.found_partitioner import as_begun, stored_partitioner
from fugu.dataflows.flows.state_directories import root_directory, shard_directories
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.partitioner import Partitioner, partitions_of
from fugu.dataflows.pipeline.config import Pipeline, reading_digest
from fugu.dataflows.pipeline.mechanisms import columns_of, configure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.pipeline.topics import Topics, bounds_of, find_topics
from fugu.dataflows.stages.per_record import exhaustible
from fugu.dataflows.stages.stage_kind import StageKind
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.exchange import Exchange
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.lease_file import LeaseFile
from fugu.dataflows.state.moved_rows import moved_rows
from fugu.dataflows.state.row_log import RowLog
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Integers, Mechanism

_COMMAND = "fugu state repartition"


@dataclass(frozen=True)
class _Layout:
    """Say where keys belong: how many partitions and shards, and which partitioner."""

    partitions: int
    shards: int
    partitioner: Partitioner

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.partitions} partitions ({self.partitioner}) in {self.shards} shards"


@dataclass(frozen=True)
class _State:
    """Hold the directories of a pipeline that stopped gracefully, and what is in them."""

    directories: Sequence[StateDirectory]
    fingerprints: Sequence[Fingerprint]
    stopped_at: dict[str, int]
    layout: _Layout


def repartition(pipeline: PipelineArgument) -> None:
    """Move streams, with their budgets, to where producers send their keys now.

    Run it when partitions were added to the source topic, or when source.partitioner or
    state.shards is to change: write the new value into the pipeline file before. The pipeline
    must have stopped gracefully. Killed anywhere, it is run once more.
    """
    pipeline = as_begun(pipeline)
    root, console = root_directory(pipeline), Console()
    exchange = Exchange(root.path)
    _require_single_records(pipeline.pipeline)
    with alone(root):
        if exchange.is_decided(_COMMAND):
            exchange.finish()
            console.print(f"{root.path}: what was begun is complete. Start {pipeline.path}.")
            return
        with _stopped(pipeline, root.path) as state:
            client = client_of(pipeline.connection(), pipeline.pipeline.source.generation)
            topics = _extended(client, pipeline)
            layout = _layout_of(pipeline.pipeline, topics.source)
            if layout == state.layout:
                console.print(f"nothing to do: the state has {layout} already")
                return
            moved = _write(exchange, pipeline, state, layout, client, topics)
            new = [directory.path for directory in shard_directories(pipeline)]
            exchange.decide(sorted(root.path.glob("shard-[0-9][0-9][0-9][0-9]")), new, _COMMAND)
            exchange.finish()
    console.print(
        f"moved {moved:,} streams with their budgets, from {state.layout} to {layout}. Start "
        f"{pipeline.path}; fugu redrive before it releases what was refused as wrong_partition. "
        f"The old directories {root.path}/shard-*.before-* hold original keys: delete them when "
        "you are satisfied."
    )


def _require_single_records(pipeline: Pipeline) -> None:
    operator = pipeline.operator
    if operator.stage is StageKind.AGGREGATE or operator.in_ticks() is not None:
        raise ConfigurationError(
            f"operator.kind: streams of {operator.kind} cannot be moved to other partitions, "
            "because every partition stands at ticks of its own. Let producers write to a new "
            "topic, and start a pipeline over it when this one has released its last tick; what "
            "both release adds up, and fugu ledger shows the sum"
        )


@contextmanager
def _stopped(file: PipelineFile, root: Path) -> Iterator[_State]:
    """Own all shards that the state has, however many the pipeline file says."""
    found = map(StateDirectory, sorted(root.glob("shard-[0-9][0-9][0-9][0-9]")))
    directories = [directory for directory in found if not directory.is_empty]
    with ExitStack() as locks:
        for directory in directories:
            directory.lock()
            locks.callback(directory.unlock)
        stored = [directory.stored() for directory in directories]
        fingerprints = [one for one in stored if one is not None]
        shards = [one.shard for one in fingerprints]
        if not fingerprints or shards != list(range(fingerprints[0].shards)):
            raise ConfigurationError(
                f"the state in {root} is not whole: a shard has not run yet, or is missing. Start "
                "the pipeline with all shards and stop it, or restore the state directory"
            )
        stopped_at = {
            partition: offset
            for directory in directories
            for partition, offset in require_graceful_stop(directory).items()
        }
        if stopped_at.keys() != set(map(str, range(fingerprints[0].partitions))):
            raise StartRefused(
                f"{root}: the last stop does not say where every partition stood. Start the "
                "pipeline, let it catch up, stop it with SIGTERM or Ctrl-C, and try again."
            )
        layout = _stored_layout(file, fingerprints[0])
        yield _State(directories, fingerprints, stopped_at, layout)


def _stored_layout(file: PipelineFile, stored: Fingerprint) -> _Layout:
    """Return the layout of a state; `StartRefused` if it reads records in another way, too."""
    partitioner = stored_partitioner(file, stored)
    if partitioner is not None:
        return _Layout(stored.partitions, stored.shards, partitioner)
    raise StartRefused(
        "source.value, timestamp or dedupe, or operator.alphabet changed, so the same records "
        "would be read as others. Only partitioner and state.shards can be changed here; set the "
        "others back. Nothing was changed."
    )


def _layout_of(pipeline: Pipeline, source: Topic) -> _Layout:
    partitioner = pipeline.source.partitioner
    if partitioner == "unchecked" or partitioner == "auto":
        raise ConfigurationError(
            f"source.partitioner is {partitioner}, so nobody knows where keys belong. Write the "
            "partitioner of the producers: murmur2 (Java, kafka-python) or crc32 (librdkafka)"
        )
    if pipeline.state.shards > source.partitions:
        raise ConfigurationError(
            f"state.shards: {pipeline.state.shards}, but topic {source.name} has "
            f"{source.partitions} partitions; write at most {source.partitions}"
        )
    return _Layout(source.partitions, pipeline.state.shards, partitioner)


def _extended(client: Client, file: PipelineFile) -> Topics:
    """Give sink and dead letters as many partitions as the source, and return all three."""
    pipeline = file.pipeline
    source = client.topic(pipeline.source.topic)
    for name in (pipeline.sink.topic, pipeline.sink.dead_letter_topic):
        topic = client.topic(name)
        if source is None or topic is None or topic.partitions >= source.partitions:
            continue
        if not pipeline.sink.create:
            raise KafkaUnavailable(
                f"topic {name} has {topic.partitions} partitions, and {source.name} has "
                f"{source.partitions}. Extend it (kafka-topics.sh --alter --topic {name} "
                f"--partitions {source.partitions}), or write sink.create: true, and run this again"
            )
        client.add_partitions(name, source.partitions)
    return find_topics(client, pipeline)


def _write(
    exchange: Exchange,
    file: PipelineFile,
    state: _State,
    layout: _Layout,
    client: Client,
    topics: Topics,
) -> int:
    """Write all new directories; return how many streams have moved."""
    mechanism = configure(file).mechanism
    start, ends = columns_of(file.pipeline, mechanism), exhaustible(mechanism)
    before = _tables(file, mechanism, state)
    homes = partial(_homes, layout)
    after = moved_rows(
        list(before.values()), homes, layout.partitions, partial(RowTable, start, ends)
    )
    begin = _begin(client, topics, state, layout)
    for shard, directory in enumerate(shard_directories(file)):
        new = exchange.new(directory.path)
        fingerprint = _fingerprint(file.pipeline, state, layout, shard, begin)
        LeaseFile.read(directory.path).write(new.path)
        new.create(fingerprint)
        for partition in fingerprint.own_partitions:
            RowLog(new.rows, partition, start, ends).found(after[partition])
        new.note_stop({p: begin["source_begin"][str(p)] for p in fingerprint.own_partitions})
    return sum(
        int(np.count_nonzero(homes(table.keys) != partition)) for partition, table in before.items()
    )


def _homes(layout: _Layout, keys: Sequence[bytes]) -> Integers:
    assert layout.partitioner != "unchecked"
    return partitions_of(keys, layout.partitions, layout.partitioner)


def _tables(file: PipelineFile, mechanism: Mechanism, state: _State) -> dict[int, RowTable]:
    shards = zip(state.directories, state.fingerprints, strict=True)
    tables = (newest_tables(file, mechanism, directory, stored) for directory, stored in shards)
    return dict(chain.from_iterable(tables))


def _begin(
    client: Client, topics: Topics, state: _State, layout: _Layout
) -> dict[str, dict[str, int]]:
    """Return where all partitions go on: where they stopped, or, added ones, at their start."""
    partitions = list(range(layout.partitions))
    added = [partition for partition in partitions if str(partition) not in state.stopped_at]
    bounds = bounds_of(client, topics.source, added) if added else {}
    ends = [bounds_of(client, topic, partitions) for topic in (topics.sink, topics.dead_letters)]
    sink, dead_letters = ({str(p): bound.end for p, bound in end.items()} for end in ends)
    ledger = state.fingerprints[0].ledger_topic and client.topic(state.fingerprints[0].ledger_topic)
    return {
        "source_begin": state.stopped_at | {str(p): bound.start for p, bound in bounds.items()},
        "sink_begin": sink,
        "dead_letters_begin": dead_letters,
        "ledger_begin": own_begin(client, ledger or None, partitions),
    }


def _fingerprint(
    pipeline: Pipeline,
    state: _State,
    layout: _Layout,
    shard: int,
    begin: dict[str, dict[str, int]],
) -> Fingerprint:
    """Return the fingerprint of a shard, which is as before but for the layout."""
    changed = state.fingerprints[0].model_copy(
        update={
            "shard": shard,
            "shards": layout.shards,
            "partitions": layout.partitions,
            "reading": reading_digest(pipeline),
            "rotated_at": [
                {p: offset for begun in epoch for p, offset in begun.items()}
                for epoch in zip(*(one.rotated_at for one in state.fingerprints), strict=True)
            ],
            "upgraded_at": {},
        }
    )
    own = set(map(str, changed.own_partitions))
    within = {
        name: {partition: offset for partition, offset in offsets.items() if partition in own}
        for name, offsets in begin.items()
    }
    return changed.model_copy(update=within)
