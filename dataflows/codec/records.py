"""Whole records. Input is an allow-list: only the configured fields are ever looked at.

Every record that is not exactly what the pipeline file declares becomes a dead letter, and its
neighbours are unharmed. Records are read some at a time, column by column; where one of those is
refused they are read again one by one, and that decides.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Protocol, runtime_checkable

import numpy as np
import orjson
from numpy.typing import DTypeLike

from dataflows.batches import Batch, DeadLetters, Decoded, Reason
from dataflows.codec.exact_numbers import rounded
from dataflows.codec.fields import FieldTimestamp, Record, Refused, required
from dataflows.deduplication import event_digest
from operators.mechanism import Releases

LARGEST_KEY_BYTES = 65_536
"""Keys live in the state, and with `sink.key: original` in what is published."""
READ_TOGETHER = 256
"""Few enough that they stay in the cache, and that one refused record delays few others."""

Value = int | bytes | tuple[int, int] | None


class Values(Protocol):
    """What a mechanism reads of records, in one field or more."""

    @property
    def field(self) -> str:
        """The field, or the first one."""
        ...

    @property
    def dtype(self) -> DTypeLike:
        """Of a column of values."""
        ...

    def read(self, record: Record) -> Value:
        """The value as the mechanism reads it; `Refused` if it is none."""
        ...


@runtime_checkable
class Columnar(Protocol):
    """Values that are cheaper to read many at a time."""

    def read_column(self, records: Sequence[Record]) -> Sequence[Value]:
        """What `read` makes of each; `Refused` if it refuses one."""
        ...


@runtime_checkable
class Domain(Values, Protocol):
    """What a mechanism's values look like in JSON, one release for one record or tick."""

    def write(self, releases: Releases) -> list[bytes]:
        """One JSON object per release."""
        ...


@dataclass
class _Accepted:
    """Columns of the records that are not refused."""

    offsets: list[int] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    events: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Codec:
    """Records of one pipeline: their values, times and, where duplicates are removed, event ids.

    Fields in `exact` may hold no number that reading would round.
    """

    domain: Values
    max_value_bytes: int
    timestamp: FieldTimestamp | None = None
    event: str | None = None
    exact: tuple[str, ...] = ()

    def decode(self, batch: Batch) -> Decoded:
        """Split a batch into accepted columns and dead letters."""
        accepted, dead = _Accepted(), DeadLetters()
        suspicious = False
        for first in range(0, len(batch.offsets), READ_TOGETHER):
            some = batch.part(first, first + READ_TOGETHER)
            if suspicious or not self._read_together(some, accepted):
                known = len(dead.offsets)
                self._read_each(some, accepted, dead)
                suspicious = len(dead.offsets) > known
        return Decoded(
            batch.partition,
            accepted.offsets,
            accepted.timestamps,
            accepted.keys,
            np.array(accepted.values, dtype=self.domain.dtype),
            None if self.event is None else accepted.events,
            dead,
        )

    def _read_together(self, batch: Batch, accepted: _Accepted) -> bool:
        """Accept all records, or none because one of them is to be refused."""
        keys, contents = list(filter(None, batch.keys)), list(filter(None, batch.values))
        if len(keys) < len(batch.keys) or len(contents) < len(batch.values):
            return False
        if max(map(len, keys)) > LARGEST_KEY_BYTES:
            return False
        if max(map(len, contents)) > self.max_value_bytes:
            return False
        try:
            records = list(map(orjson.loads, contents))
            if set(map(type, records)) != {dict}:
                return False
            values = self._read_column(records)
            timestamps = self._times(batch.timestamps, records)
            events = [] if self.event is None else [_event(r, self.event) for r in records]
        except (orjson.JSONDecodeError, Refused):
            return False
        if self.exact and any(rounded(content, self.exact) for content in contents):
            return False
        accepted.offsets += batch.offsets
        accepted.timestamps += timestamps
        accepted.keys += keys
        accepted.values += values
        accepted.events += events
        return True

    @cached_property
    def _read_column(self) -> Callable[[Sequence[Record]], Sequence[Value]]:
        if isinstance(self.domain, Columnar):
            return self.domain.read_column
        return lambda records: list(map(self.domain.read, records))

    def _times(self, arrived: list[int], records: list[Record]) -> list[int]:
        if self.timestamp is not None:
            return self.timestamp.read_column(records)
        return arrived if min(arrived) >= 0 else [max(one, 0) for one in arrived]

    def _read_each(self, batch: Batch, accepted: _Accepted, dead: DeadLetters) -> None:
        """Accept or refuse every record by itself."""
        for offset, arrived, key, content in zip(
            batch.offsets, batch.timestamps, batch.keys, batch.values, strict=True
        ):
            arrival = max(arrived, 0)
            try:
                if not key:
                    raise Refused(Reason.NO_KEY)
                if len(key) > LARGEST_KEY_BYTES:
                    raise Refused(Reason.TOO_LARGE)
                record = self._parse(content)
                value = self.domain.read(record)
                timestamp = arrival if self.timestamp is None else self.timestamp.read(record)
                event = None if self.event is None else _event(record, self.event)
            except Refused as refusal:
                dead.add(offset, arrival, refusal.reason, refusal.field)
                continue
            accepted.offsets.append(offset)
            accepted.timestamps.append(timestamp)
            accepted.keys.append(key)
            accepted.values.append(value)
            if event is not None:
                accepted.events.append(event)

    def encode(self, releases: Releases) -> list[bytes]:
        """One JSON object per release, where values are released as they are read."""
        assert isinstance(self.domain, Domain)
        return self.domain.write(releases)

    def _parse(self, content: bytes | None) -> Record:
        if content is None:
            raise Refused(Reason.TOMBSTONE)
        if len(content) > self.max_value_bytes:
            raise Refused(Reason.TOO_LARGE)
        try:
            record = orjson.loads(content)
        except orjson.JSONDecodeError:
            raise self._refusal(content) from None
        if type(record) is not dict:
            raise Refused(Reason.WRONG_TYPE)
        if self.exact and rounded(content, self.exact):
            raise Refused(Reason.OUTSIDE_DOMAIN, self.exact[0])
        return record

    def _refusal(self, content: bytes) -> Refused:
        """Tell a number that JSON cannot hold from text that is no JSON at all."""
        try:
            record = json.loads(content.decode())
        except (ValueError, RecursionError):
            return Refused(Reason.NOT_JSON)
        fields = [self.domain.field] + ([self.timestamp.field] if self.timestamp else [])
        for name in fields:
            number = record.get(name) if isinstance(record, dict) else None
            if isinstance(number, float) and not isfinite(number):
                return Refused(Reason.NOT_FINITE, name)
        return Refused(Reason.NOT_JSON)


def _event(record: Record, field: str) -> int:
    value = required(record, field)
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise Refused(Reason.WRONG_TYPE, field)
    return event_digest(value)
