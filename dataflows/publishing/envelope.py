"""Make complete Kafka records of releases and dead letters: key, value, headers, timestamp."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import orjson

from fugu.dataflows.base.batches import DeadLetters, Outgoing, Sanitized
from fugu.dataflows.base.columns import NONE, HeaderColumns, OptionalByteColumn
from fugu.dataflows.publishing.entries import ledger_key, stream_entry
from fugu.dataflows.publishing.origins import FORWARDED, Origins
from fugu.dataflows.publishing.pseudonyms import Pseudonyms
from fugu.dataflows.publishing.release_form import ReleaseForm
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.origins import Origin
from fugu.dataflows.records.published import GUARANTEE_HEADER, RELEASE_HEADER
from fugu.operators.byte_column import ByteColumn, bytes_of
from fugu.operators.integer_column import IntegerColumn
from fugu.operators.mechanism import Integers, Releases
from fugu.operators.randomness import DrawScope

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
