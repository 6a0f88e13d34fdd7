"""Name users by pseudonyms, and make complete Kafka records of releases and dead letters."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Literal

import numpy as np
import orjson

from fugu.dataflows.base.batches import Batch, DeadLetters, Outgoing, Sanitized
from fugu.dataflows.base.columns import NONE, HeaderColumns, OptionalByteColumn
from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.kafka.schema_registry import SchemaRegistry
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import schema_of_releases
from fugu.dataflows.publishing.ledger_topic import ledger_key, stream_entry
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.json_columns import joined
from fugu.dataflows.records.published import GUARANTEE_HEADER, RELEASE_HEADER, Origin, origin_of
from fugu.dataflows.records.registered import prefix_of, schema_id, subject_of
from fugu.dataflows.records.release_schema import ReleaseSchema
from fugu.dataflows.records.values import Values
from fugu.operators import compiled
from fugu.operators.columns import ByteColumn, IntegerColumn, bytes_of
from fugu.operators.mechanism import Integers, Releases
from fugu.operators.randomness import WORTH_HASHING, DrawScope, KeyedPrefix, Secret

_REMEMBERED_NAMES = 100_000
"""The number of latest users whose pseudonyms are kept, where no compiled code makes them."""


@dataclass
class Pseudonyms:
    """Hash stream keys with a key of their own, `secret`, scoped to one sink topic."""

    secret: Secret
    sink: str
    _known: dict[bytes, bytes] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._prefix = KeyedPrefix(self.secret, "fugu-pseudonym-v1", self.sink)

    def of(self, key: bytes) -> bytes:
        """Return 32 hexadecimal digits, the same for one key in one sink for ever."""
        return self.of_each([key])[0]

    def of_each(self, keys: Sequence[bytes]) -> Sequence[bytes]:
        """Return those of many keys: of a column at once, else of users who are remembered."""
        if isinstance(keys, ByteColumn) and len(keys) >= WORTH_HASHING and compiled.available():
            return self._prefix.names_of(keys)
        known = self._known
        try:
            return list(map(known.__getitem__, keys))
        except KeyError:
            new: Sequence[bytes] = list({key for key in keys if key not in known})
        if len(known) + len(new) > _REMEMBERED_NAMES:
            known.clear()
        if len(known) < len(keys) or len(new) > len(keys) // 2:
            new = keys  # to find those that are known takes as long as to make them again
        names = list(self._prefix.names_of(new))
        known.update(zip(new, names, strict=True))
        return names if new is keys else list(map(known.__getitem__, keys))


@dataclass(frozen=True)
class Strangers:
    """Recognise keys by pseudonyms of them, by sink topic, under which they were released."""

    secret: Secret
    names: Mapping[str, Sequence[str]]

    def __call__(self, keys: Sequence[bytes]) -> list[bool]:
        """Return which keys have one of the pseudonyms."""
        found = [False] * len(keys)
        for sink, names in self.names.items():
            known = {name.encode() for name in names}
            own = Pseudonyms(self.secret, sink).of_each(keys)
            found = [one or name in known for one, name in zip(found, own, strict=True)]
        return found


FORWARDED = "forwarded_offset"
"""Name the field of a dead letter that holds the offset in the internal topic."""
_REMEMBERED_ORIGINS = 4


class Origins:
    """Remember the newest batches of each partition; others are read once more.

    So a replay tells the same, whatever it holds back.
    """

    def __init__(self, source: Topic, by_user: str, client: Client) -> None:
        self.source, self._by_user, self._client = source, by_user, client
        self._newest: dict[int, deque[Batch]] = {}

    def note(self, batch: Batch) -> None:
        """Remember a batch that is about to be decoded."""
        self._newest.setdefault(batch.partition, deque(maxlen=_REMEMBERED_ORIGINS)).append(batch)

    def of(self, partition: int, offsets: Sequence[int]) -> list[Origin | None]:
        """Return the origins of these records; None of those that Fugu has not written."""
        wanted, found = set(offsets), dict[int, Origin | None]()
        for batch in [*self._newest.get(partition, ())]:
            _look(batch, wanted, found)
        if missing := wanted - found.keys():
            with closing(self._client.reader(self._by_user)) as reader:
                bound = reader.bounds([partition])[partition]
                first, end = max(min(missing), bound.start), min(max(missing) + 1, bound.end)
                for batch in reader.read_range(partition, first, end) if first < end else ():
                    _look(batch, missing, found)
        return [found.get(offset) for offset in offsets]


def _look(batch: Batch, wanted: set[int], found: dict[int, Origin | None]) -> None:
    """Note the origins of what is wanted and in this batch."""
    if wanted.isdisjoint(range(int(batch.offsets[0]), int(batch.offsets[-1]) + 1)):
        return
    for offset, key in zip(batch.offsets, batch.keys, strict=True):
        if offset in wanted:
            found[offset] = origin_of(key)


_LOOKED_BACK = 100
"""Marks of transactions stand behind the last release."""


@dataclass(frozen=True)
class ReleaseForm:
    """Write releases by a schema of a subject, which is registered before the first of them."""

    schema: ReleaseSchema
    topic: str
    schemas: SchemaRegistry

    @property
    def subject(self) -> str:
        """Return the subject of the schema."""
        return subject_of(self.topic)

    @cached_property
    def number(self) -> int:
        """Register the schema, and return its id; a registry has the same id for the same text."""
        return self.schemas.register(self.subject, self.schema.text)

    @cached_property
    def _write(self) -> Callable[[bytes], bytes] | None:
        return self.schema.writer()

    def written(self, releases: Sequence[bytes]) -> Sequence[bytes]:
        """Return releases in JSON as they are published."""
        prefix, write = prefix_of(self.number), self._write
        if write is None:
            return joined(len(releases), prefix, ByteColumn.of(releases))
        return [prefix + write(release) for release in releases]

    def require_own(self, client: Client, sink: Topic) -> None:
        """Raise `StartRefused` where readers could not read what is in the sink, and what comes."""
        for partition, content in _last_ones(client, sink).items():
            where, found = f"topic {sink.name}, partition {partition}", schema_id(content)
            if found is None:
                raise StartRefused(
                    f"{where}: the last release was written without a schema. Leave sink.format "
                    "out, or write another sink.topic, in a new pipeline"
                )
            if found != self.number and not self.schemas.has(self.subject, found):
                raise StartRefused(
                    f"{where}: the last release was written by schema {found}, which the registry "
                    f"at {self.schemas.url} does not have for {self.subject} (it has "
                    f"{self.number} for what is written now). Readers need both, and a replay "
                    "writes the same bytes. Restore the registry with its ids"
                )


def _last_ones(client: Client, topic: Topic) -> dict[int, bytes]:
    """Return the last value of each partition that has one."""
    found: dict[int, bytes] = {}
    with closing(client.reader(topic.name)) as reader:
        for partition, bounds in reader.bounds(list(range(topic.partitions))).items():
            begin = max(bounds.start, bounds.end - _LOOKED_BACK)
            for batch in reader.read_range(partition, begin, bounds.end):
                for value in batch.values:
                    if value is not None:
                        found[partition] = bytes(value)
    return found


def release_form(file: PipelineFile, values: Values) -> ReleaseForm | None:
    """Return how the pipeline file wants releases to be written; None for JSON alone."""
    sink, schema = file.pipeline.sink, schema_of_releases(file.pipeline, values)
    if sink.format is None or schema is None:
        return None
    registry = sink.format.registry
    schemas = SchemaRegistry(registry.url, partial(registry.settings, file.resolve))
    return ReleaseForm(schema, sink.topic, schemas)


KeyPolicy = Literal["pseudonym", "original", "none"]


@dataclass(frozen=True)
class Publisher:
    """Give every release its public name and form.

    `source` is the identity of the source topic (its topic id where the broker has one), which is
    part of every release id; `source_topic` is the name that dead letters show.
    """

    codec: Codec
    scope: DrawScope
    source: str
    source_topic: str
    guarantee_id: bytes
    key_policy: KeyPolicy
    pseudonyms: Pseudonyms
    form: ReleaseForm | None = None
    origins: Origins | None = None
    """Tells where records come from that were written by user first."""

    def releases(self, sanitized: Sanitized) -> Outgoing:
        """Return the records for the sanitized topic."""
        return Outgoing(
            partition=sanitized.partition,
            keys=self._keys(sanitized.keys),
            values=self._values(sanitized.releases),
            headers=self._headers(self._names(sanitized)),
            timestamps=sanitized.timestamps,
            positions=sanitized.offsets,
        )

    def _values(self, releases: Releases) -> Sequence[bytes]:
        values = self.codec.encode(releases)
        return values if self.form is None else self.form.written(values)

    def dead_letters(self, partition: int, dead: DeadLetters) -> Outgoing:
        """Return the records for the dead-letter topic: coordinates and reason, never the
        payload."""
        return Outgoing(
            partition=partition,
            keys=[None] * len(dead.offsets),
            values=self._dead_letter_values(partition, dead),
            headers=self._headers(self.dead_letter_ids(partition, dead.offsets)),
            timestamps=dead.timestamps,
            positions=dead.offsets,
        )

    def spending(self, sanitized: Sanitized, home: int | None = None) -> Outgoing:
        """Return the records for the ledger: which streams have spent how much of their budget.

        Rows may have their `home` in another partition than that of the records.
        """
        spending, home = sanitized.spending, sanitized.partition if home is None else home
        keys = self._keys(spending.keys)
        streams = [(key or b"").decode(errors="backslashreplace") for key in keys]
        ids = self.ledger_ids(sanitized.partition, spending.offsets)
        return Outgoing(
            partition=home,
            keys=[ledger_key(self.scope.pipeline, home, name) for name in streams],
            values=[
                stream_entry(self.scope.pipeline, *self._people, name, level)
                for name, level in zip(streams, spending.levels, strict=True)
            ],
            headers=self._headers(ids),
            timestamps=spending.timestamps,
            positions=spending.offsets,
        )

    def tick_headers(
        self,
        topic: str,
        keys: Sequence[bytes],
        ticks: Sequence[int],
        parts: Integers | None = None,
    ) -> HeaderColumns:
        """Return the headers of what is said about ticks of groups, or of the partitions of a
        topic: of several things with one key and tick, each has a number among its `parts`."""
        numbers = np.zeros(len(keys), dtype=np.int64) if parts is None else parts
        ids = self.scope.tick_release_ids(topic, keys, IntegerColumn(numbers), ticks)
        return self._headers(ids)

    def record_headers(self, partition: int, offsets: Sequence[int]) -> HeaderColumns:
        """Return the headers of what is made of these source records."""
        return self._headers(self.release_ids(partition, offsets))

    def ledger_ids(self, partition: int, offsets: Sequence[int]) -> ByteColumn:
        """Return the names of the ledger's records about these source records."""
        return self.scope.release_ids("ledger", self.source, partition, offsets)

    def release_ids(self, partition: int, offsets: Sequence[int]) -> ByteColumn:
        """Return the names of the releases of these source records."""
        return self.scope.release_ids("release", self.source, partition, offsets)

    def dead_letter_ids(self, partition: int, offsets: Sequence[int]) -> ByteColumn:
        """Return the names of the dead letters about these source records."""
        return self.scope.release_ids("dead letter", self.source, partition, offsets)

    @property
    def _people(self) -> tuple[str, str]:
        """Return name and identity of the topic whose people the ledger is about."""
        if self.origins is None:
            return self.source_topic, self.source
        return self.origins.source.name, self.origins.source.identity

    def _names(self, sanitized: Sanitized) -> ByteColumn:
        if sanitized.epochs is None:
            return self.release_ids(sanitized.partition, sanitized.offsets)
        return self.scope.tick_release_ids(
            self.source,
            sanitized.keys,
            sanitized.epochs,
            sanitized.offsets,
            partition=sanitized.partition,
        )

    def _keys(self, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        if self.key_policy == "none":
            return nothing_in(len(keys))
        if self.key_policy == "original":
            return keys
        return self.pseudonyms.of_each(keys)

    def _headers(self, ids: ByteColumn) -> HeaderColumns:
        contents: dict[str, ByteColumn | bytes] = {
            RELEASE_HEADER: ids,
            GUARANTEE_HEADER: self.guarantee_id,
        }
        return HeaderColumns(len(ids), contents)

    def _dead_letter_values(self, partition: int, dead: DeadLetters) -> list[bytes]:
        places = self._places(partition, dead.offsets)
        return [
            orjson.dumps({**place, "reason": reason, "field": name or None})
            for place, reason, name in zip(places, dead.reasons, dead.fields, strict=True)
        ]

    def _places(self, partition: int, offsets: Sequence[int]) -> Iterator[dict[str, object]]:
        """Yield the coordinates of records; of those written by user first, of the originals."""
        origins: list[Origin | None] = [None] * len(offsets)
        if self.origins is not None:
            origins = self.origins.of(partition, offsets)
        for offset, origin in zip(offsets, origins, strict=True):
            place = {"topic": self.source_topic, "partition": partition, "offset": offset}
            if origin is not None and self.origins is not None:
                name, (home, at) = self.origins.source.name, origin
                place = {"topic": name, "partition": home, "offset": at, FORWARDED: offset}
            yield place


def nothing_in(count: int) -> OptionalByteColumn:
    """Return the keys of so many records that have none."""
    return OptionalByteColumn(
        bytes_of(b""), np.zeros(count, dtype=np.int64), np.full(count, NONE, dtype=np.int64)
    )
