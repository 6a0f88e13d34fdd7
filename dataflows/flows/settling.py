"""Go on after a crash where retention has removed what a replay would read.

What was published since the last snapshot is not in the rows yet, and its records are gone. But
rows are functions of releases: each stream follows its own ones from the topic, so that belief and
budget are what they were. A stream that began there is known by its pseudonym alone: it is refused
from now on, because nobody could tell what it has spent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import orjson

from fugu.dataflows.base.errors import NEW_PIPELINE, ConfigurationError, StartRefused
from fugu.dataflows.flows.former_laws import present_law
from fugu.dataflows.flows.given import Given
from fugu.dataflows.flows.orphans import Gap, Names, Orphan, Outlet, Tail, tail_of
from fugu.dataflows.flows.preparation import Preparation
from fugu.dataflows.flows.stopped_state import StoppedState, resumed_at
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.kafka.client import Bounds
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.kinds import AlphabetOperator
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import columns_of
from fugu.dataflows.pipeline.topics import Topics, bounds_of, find_topics
from fugu.dataflows.publishing.ledger_topic import is_stream_of
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.json_fields import Refused
from fugu.dataflows.stages.per_record import exhaustible, passing_time
from fugu.dataflows.state.exchange import Exchange
from fugu.dataflows.state.fingerprint import Fingerprint, check_same
from fugu.dataflows.state.next_directory import Columns, write_directory
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.carrying.carry import followed, refuse_hidden_positions
from fugu.operators.mechanism import EnumerableMechanism, Kind, Releases


@dataclass(frozen=True)
class Settled:
    """Hold how many releases were followed, and how many streams are refused from now on."""

    followed: int = 0
    strangers: int = 0


@dataclass(frozen=True)
class Settling:
    """Write the next state of a pipeline that crashed before gaps in its source."""

    preparation: Preparation
    topics: Topics
    state: StoppedState
    gaps: dict[int, Bounds]

    @classmethod
    def of(cls, file: PipelineFile, state: StoppedState, gaps: Iterable[int]) -> "Settling":
        """Find the source, and what it still holds; `StartRefused` where there is no gap."""
        if not file.pipeline.operator.releases_record_by_record:
            raise ConfigurationError(
                f"operator.kind: {file.pipeline.operator.kind} needs a graceful stop before a gap "
                "can be accepted, because its releases do not follow its records one by one"
            )
        preparation = Preparation(Given.by(file), StopFlag(), None, looking=True)
        topics = find_topics(preparation.client, preparation.pipeline, preparation.begun)
        for one in state.fingerprints:
            check_same(one, preparation.fingerprint(topics, one.shard, StreamsPlan.steps))
        source = topics.source
        bounds = bounds_of(preparation.client, source, list(map(int, state.stopped_at)))
        gone = {one for one, b in bounds.items() if state.stopped_at[str(one)] < b.start}
        if gone != set(gaps):
            named = " ".join(f"--accept-gap {source.name}:{one}" for one in sorted(gone))
            raise StartRefused(
                f"topic {source.name}: the pipeline did not stop gracefully, and records that it "
                f"goes on with are gone from {len(gone)} partitions. Name all of them: "
                f"{named or 'none'}. Nothing was changed."
            )
        return cls(preparation, topics, state, {one: bounds[one] for one in gone})

    def write(self, exchange: Exchange, command: str, about: str) -> Settled:
        """Write the directories of all shards, and make them count."""
        tables = self.state.tables(self.preparation.file, self.preparation.mechanism)
        strangers, followed = set[bytes](), 0
        begins: dict[str, dict[str, int]] = {"source_begin": dict(self.state.stopped_at)}
        for name in ("sink", "dead_letters", "ledger"):
            begins[f"{name}_begin"] = self._resumed(name)
        begins["dead_letters_begin"] = self._still_there(begins["dead_letters_begin"])
        for partition, held in self.gaps.items():
            place, table = str(partition), tables.setdefault(partition, RowTable(*self._columns))
            gap = Gap(partition, self.state.stopped_at[place], held)
            begins["source_begin"][place] = held.start
            for name in ("dead_letters", "ledger"):
                if place in (begin := begins[f"{name}_begin"]):
                    begin[place] = self._tail(name, gap, begin[place]).begin
            tail = self._tail("sink", gap, begins["sink_begin"][place])
            begins["sink_begin"][place] = tail.begin
            strangers |= self._follow(partition, table, tail.orphans)
            followed += len(tail.orphans)
        for directory, stored in zip(self.state.directories, self.state.fingerprints, strict=True):
            fingerprint = self._fingerprint(stored, begins, strangers)
            whole = {p: tables.get(p, RowTable(*self._columns)) for p in stored.own_partitions}
            write_directory(exchange, directory, fingerprint, whole, self._columns)
        paths = [directory.path for directory in self.state.directories]
        exchange.decide(paths, paths, command, about)
        return Settled(followed, len(strangers))

    @cached_property
    def _columns(self) -> Columns:
        mechanism = self.preparation.mechanism
        return columns_of(self.preparation.pipeline, mechanism), exhaustible(mechanism)

    def _resumed(self, output: str) -> dict[str, int]:
        """Return where a start would look for what is published already."""
        step = {"sink": "sink", "dead_letters": "dead_letter_sink", "ledger": "ledger_sink"}
        begins: dict[str, int] = {}
        for directory, stored in zip(self.state.directories, self.state.fingerprints, strict=True):
            begins |= resumed_at(
                directory, stored, step[output], getattr(stored, f"{output}_begin")
            )
        return begins

    def _still_there(self, begins: dict[str, int]) -> dict[str, int]:
        """Return where the same dead letters begin that are not gone; they cost nothing."""
        topic = self.topics.dead_letters
        bounds = bounds_of(self.preparation.client, topic, list(map(int, begins)))
        return {
            place: min(max(at, bounds[int(place)].start), bounds[int(place)].end)
            for place, at in begins.items()
        }

    def _tail(self, output: str, gap: Gap, start: int) -> Tail:
        """Return what a topic holds about a partition from where a start would look."""
        pipeline, partition = self.preparation.pipeline.name, gap.partition
        publisher = self.preparation.publisher(self.topics.source)
        topic, ledger = getattr(self.state.first, f"{output}_topic"), self.preparation.ledger
        names: dict[str, Names] = {
            "sink": publisher.release_ids,
            "dead_letters": publisher.dead_letter_ids,
            "ledger": publisher.ledger_ids,
        }
        outlet = Outlet(topic, partition, names[output])
        if output == "ledger" and ledger is not None:
            own = partial(is_stream_of, pipeline, partition)
            outlet = Outlet(topic, partition % ledger.partitions, names[output], own)
        return tail_of(self.preparation.client, outlet, start, gap)

    def _follow(self, partition: int, table: RowTable, orphans: Sequence[Orphan]) -> set[bytes]:
        """Let streams follow their releases; return the names of those that have no row."""
        mechanism, sink = self.preparation.mechanism, self.preparation.pipeline.sink
        if not mechanism.start(1) or not orphans:
            return set()
        operator = self.preparation.pipeline.operator
        if (
            sink.key == "none"
            or not isinstance(operator, AlphabetOperator)
            or not isinstance(mechanism, EnumerableMechanism)
        ):
            raise StartRefused(
                f"topic {sink.topic}, partition {partition}: {len(orphans)} releases belong to "
                "records that are gone, and cannot be charged to their streams: that needs keys "
                "in the sink, and an operator that releases symbols. Restore the source, or "
                f"{NEW_PIPELINE}. Nothing was changed."
            )
        try:
            refuse_hidden_positions(mechanism)
        except ValueError as error:
            raise StartRefused(
                f"topic {sink.topic}, partition {partition}: {len(orphans)} releases belong to "
                f"records that are gone, and cannot be charged to their streams. {error}. Restore "
                f"the source, or {NEW_PIPELINE}. Nothing was changed."
            ) from None
        keys = table.keys
        names = keys if sink.key == "original" else self._names(keys)
        known, strangers = dict(zip(names, keys, strict=True)), set[bytes]()
        for orphan in orphans:
            key = orphan.key if sink.key == "original" else known.get(orphan.key)
            symbol, kind = self._read(partition, orphan)
            if key is not None:
                self._step(mechanism, partition, table, key, orphan, (symbol, kind))
            elif kind is Kind.FRESH:
                strangers.add(orphan.key)
        return strangers

    def _names(self, keys: Sequence[bytes]) -> Sequence[bytes]:
        return self.preparation.publisher(self.topics.source).pseudonyms.of_each(keys)

    def _read(self, partition: int, orphan: Orphan) -> tuple[int, Kind]:
        pipeline = self.preparation.pipeline
        assert isinstance(pipeline.operator, AlphabetOperator)
        domain = Alphabet(pipeline.source.field, pipeline.operator.alphabet)
        try:
            release = orjson.loads(orphan.value)
            kind = Kind.REPEATED if release.get("repeated", False) else Kind.FRESH
            return domain.read_release(release), kind
        except (orjson.JSONDecodeError, AttributeError, Refused):
            raise self._not_ours(partition, orphan) from None

    def _step(
        self,
        mechanism: EnumerableMechanism,
        partition: int,
        table: RowTable,
        key: bytes,
        orphan: Orphan,
        released: tuple[int, Kind],
    ) -> None:
        symbol, kind = np.array([released[0]]), np.array([released[1]])
        rows = table.rows_of([key])
        row = table.gather(rows)
        state = {name: row[name] for name in mechanism.start(0)}
        elapse = passing_time(mechanism)
        if elapse is not None:
            state = elapse(state, [orphan.timestamp])
        try:
            after = followed(mechanism, state, Releases(symbol, {}, kind))
        except ValueError:
            raise self._not_ours(partition, orphan) from None
        table.scatter(rows, {**row, **after})

    def _not_ours(self, partition: int, orphan: Orphan) -> StartRefused:
        return StartRefused(
            f"topic {self.state.first.sink_topic}, partition {partition}, offset {orphan.offset} "
            "is no release that this state could have made next. Restore the state directory and "
            "the topic. Nothing was changed."
        )

    def _fingerprint(
        self, stored: Fingerprint, begins: dict[str, dict[str, int]], strangers: set[bytes]
    ) -> Fingerprint:
        """Return the fingerprint of a shard, which begins behind the gaps."""
        law = present_law(self.state.fingerprints)
        ended = law.model_copy(update={"sink_end": begins["sink_begin"]})
        own = set(map(str, stored.own_partitions))
        every = dict(self.state.first.strangers)
        names = {*every.get(stored.sink_topic, []), *(name.decode() for name in strangers)}
        if names:
            every[stored.sink_topic] = sorted(names)
        return stored.model_copy(
            update={
                "former": [*stored.former, ended],
                "strangers": every,
                **{
                    name: {place: at for place, at in offsets.items() if place in own}
                    for name, offsets in begins.items()
                },
            }
        )
