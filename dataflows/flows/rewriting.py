"""Write the next state of a pipeline beside the present one, which stopped gracefully.

Every row is written anew, where the keys of now belong. The new directories begin where the old
ones stopped: a first start reads the source from there on, and looks for its own releases behind
those that are in the topics already.
"""

import logging
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import numpy as np

from fugu.dataflows.base.errors import ConfigurationError, KafkaUnavailable, StartRefused
from fugu.dataflows.flows.first_start import empty_topic_begin, own_begin
from fugu.dataflows.flows.former_laws import former_with
from fugu.dataflows.flows.key_layout import KeyLayout, require_known_places
from fugu.dataflows.flows.sections import aggregate_of
from fugu.dataflows.flows.state_directories import root_directory, shard_directories
from fugu.dataflows.flows.stopped_state import StoppedState
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.pipeline.config import Pipeline, PipelineFile
from fugu.dataflows.pipeline.mechanisms import columns_of, configure
from fugu.dataflows.pipeline.topics import (
    Topics,
    bounds_of,
    find_aggregate_topics,
    find_topics,
    topic_to_read,
)
from fugu.dataflows.stages.per_record import exhaustible
from fugu.dataflows.stages.stage import holding
from fugu.dataflows.state.exchange import Exchange
from fugu.dataflows.state.fingerprint import Fingerprint, FormerLaw
from fugu.dataflows.state.moved_rows import moved_rows
from fugu.dataflows.state.next_directory import Columns, write_directory
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Mechanism
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Rewriting:
    """Hold what the next state is made for: a pipeline file, its mechanism, topics and layout."""

    file: PipelineFile
    mechanism: Mechanism
    client: Client
    topics: Topics
    ledger: Topic | None
    state: StoppedState
    before: KeyLayout
    layout: KeyLayout
    gaps: Collection[int] = ()
    """Partitions of the source whose next records are gone, and may be."""

    def write(
        self,
        exchange: Exchange,
        tables: Mapping[int, RowTable],
        changed: Mapping[str, object],
        command: str,
        about: str = "",
    ) -> int:
        """Write all new directories and decide for them; return how many streams moved.

        `tables` are the rows of the partitions of before, in columns of the new mechanism;
        `changed` says which other entries of the fingerprint are new; `command` has to finish,
        with what it was `about`.
        """
        if not self._is_aggregate:
            self._require_nothing_held(tables)
        after, moved = self._placed(tables)
        begin, directories = self._begin(), shard_directories(self.file)
        stored = self.state.fingerprints
        former = [] if self._is_aggregate else former_with(self.client, stored)
        for shard, directory in enumerate(directories):
            fingerprint = self._fingerprint(shard, begin, former).model_copy(update=changed)
            write_directory(exchange, directory, fingerprint, after, self._columns)
        root = root_directory(self.file).path
        old = sorted(root.glob("shard-[0-9][0-9][0-9][0-9]"))
        exchange.decide(old, [directory.path for directory in directories], command, about)
        return moved

    @property
    def moves_keys(self) -> bool:
        """Return whether a key may be in another partition afterwards."""
        was, now = self.before, self.layout
        return (was.partitions, was.partitioner) != (now.partitions, now.partitioner)

    @property
    def _is_aggregate(self) -> bool:
        return aggregate_of(self.file.pipeline) is not None

    @property
    def _columns(self) -> Columns:
        return columns_of(self.file.pipeline, self.mechanism), exhaustible(self.mechanism)

    def _require_nothing_held(self, tables: Mapping[int, RowTable]) -> None:
        """Refuse rows that hold values back: `--finish` would not find them in a state that has
        read nothing yet."""
        held = sum(map(self._held, tables.values()))
        if held:
            raise StartRefused(
                f"{held} streams hold values back that are not released yet. Run the pipeline "
                "once with --finish, and try again. Nothing was changed."
            )

    def _held(self, table: RowTable) -> int:
        batches, own = holding(self.mechanism), self.mechanism.start(0)
        rows = {name: table.live(name) for name in own}
        if batches is not None:
            return int(np.count_nonzero(batches.holding(rows)))
        displaced = isinstance(self.mechanism, TemporalPerturbation)
        return int(np.count_nonzero(rows["tick"] > 0)) if displaced else 0

    def unread(self) -> int:
        """Return how many records, of keys that move, wait where their keys are no longer."""
        count, codec = 0, configure(self.file).codec
        name, headers = self.topics.source.name, codec.reads_headers
        with closing(self.client.reader(name, headers=headers)) as reader:
            known = sorted(map(int, self.state.stopped_at))
            for partition, bound in reader.bounds(known).items():
                first = max(bound.start, self.state.stopped_at[str(partition)])
                for batch in reader.read_range(partition, first, bound.end):
                    keys = [key for key in codec.keys_of(batch) if key is not None]
                    count += int(np.count_nonzero(self.layout.homes(keys) != partition))
        return count

    def _placed(self, tables: Mapping[int, RowTable]) -> tuple[Mapping[int, RowTable], int]:
        empty = partial(RowTable, *self._columns)
        if not self.moves_keys:
            own = range(self.layout.partitions)
            return {one: tables[one] if one in tables else empty() for one in own}, 0
        require_known_places(self.file.pipeline)
        homes = self.layout.homes
        after = moved_rows(list(tables.values()), homes, self.layout.partitions, empty)
        away = (np.count_nonzero(homes(table.keys) != one) for one, table in tables.items())
        return dict(enumerate(after)), sum(map(int, away))

    def _begin(self) -> dict[str, dict[str, int]]:
        """Return where all partitions go on: where they stopped, or, added ones, at their start.

        A topic that is not the one of before has to be empty.
        """
        partitions, topics, was = list(range(self.layout.partitions)), self.topics, self.state.first
        stopped_at = self.state.stopped_at | self._after_gaps()
        added = [partition for partition in partitions if str(partition) not in stopped_at]
        bounds = bounds_of(self.client, topics.source, added) if added else {}
        sink = own_begin if topics.sink.identity == was.sink_identity else empty_topic_begin
        same = topics.dead_letters.identity == was.dead_letters_identity
        dead_letters = own_begin if same else empty_topic_begin
        return {
            "source_begin": stopped_at | {str(p): bound.start for p, bound in bounds.items()},
            "sink_begin": sink(self.client, topics.sink, partitions),
            "dead_letters_begin": dead_letters(self.client, topics.dead_letters, partitions),
            "ledger_begin": own_begin(self.client, self.ledger, partitions),
        }

    def _after_gaps(self) -> dict[str, int]:
        """Return the first records behind gaps; `StartRefused` where there is none."""
        name, stopped_at = self.topics.source.name, self.state.stopped_at
        if unknown := [one for one in self.gaps if str(one) not in stopped_at]:
            raise ConfigurationError(
                f"--accept-gap {name}:{unknown[0]}: the pipeline reads {len(stopped_at)} partitions"
            )
        bounds = bounds_of(self.client, self.topics.source, sorted(self.gaps)) if self.gaps else {}
        for partition, bound in bounds.items():
            if stopped_at[str(partition)] >= bound.start:
                raise StartRefused(
                    f"--accept-gap {name}:{partition}: there is no gap. The next record to read "
                    f"has offset {stopped_at[str(partition)]}, and the topic holds offsets "
                    f"{bound.start} to {bound.end}. Nothing was changed."
                )
            log.warning(
                "topic %s, partition %d: records %d to %d are gone, and are passed over",
                name,
                partition,
                stopped_at[str(partition)],
                bound.start - 1,
            )
        return {str(partition): bound.start for partition, bound in bounds.items()}

    def _fingerprint(
        self, shard: int, begin: dict[str, dict[str, int]], former: list[FormerLaw]
    ) -> Fingerprint:
        """Return the fingerprint of a shard, which is as before but for the layout."""
        first, topics = self.state.first, self.topics
        rotated_at = zip(*(one.rotated_at for one in self.state.fingerprints), strict=True)
        changed = first.model_copy(
            update={
                "shard": shard,
                "shards": self.layout.shards,
                "partitions": self.layout.partitions,
                "sink_topic": topics.sink.name,
                "sink_identity": topics.sink.identity,
                "dead_letters_topic": topics.dead_letters.name,
                "dead_letters_identity": topics.dead_letters.identity,
                "rotated_at": [
                    {p: offset for begun in epoch for p, offset in begun.items()}
                    for epoch in rotated_at
                ],
                "former": former,
                "partitions_begun": first.partitions_at_first if self._is_aggregate else 0,
            }
        )
        own = set(map(str, changed.own_partitions))
        within = {
            name: {partition: offset for partition, offset in offsets.items() if partition in own}
            for name, offsets in begin.items()
        }
        return changed.model_copy(update=within)


def extended_topics(client: Client, pipeline: Pipeline) -> Topics:
    """Give sink and dead letters as many partitions as the source, and return all three.

    The figures of an aggregate are in one partition. Its people are summed into the internal log.
    """
    source, aggregate = topic_to_read(client, pipeline), aggregate_of(pipeline) is not None
    beside = pipeline.sink.dead_letter_topic
    for name in [beside] if aggregate else [pipeline.sink.topic, beside]:
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
    return (
        find_aggregate_topics(client, pipeline)[0] if aggregate else find_topics(client, pipeline)
    )
