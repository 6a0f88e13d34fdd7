"""Whole records. Input is an allow-list: only the configured fields are ever looked at.

Every record that is not exactly what the pipeline file declares becomes a dead letter, and its
neighbours are unharmed.
"""

import json
from dataclasses import dataclass
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

    def read(self, record: Record) -> int | bytes | tuple[int, int] | None:
        """The value as the mechanism reads it; `Refused` if it is none."""
        ...


@runtime_checkable
class Domain(Values, Protocol):
    """What a mechanism's values look like in JSON, one release for one record or tick."""

    def write(self, releases: Releases) -> list[bytes]:
        """One JSON object per release."""
        ...


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
        offsets, timestamps, keys, values, events = [], [], [], [], []
        dead = DeadLetters()
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
            offsets.append(offset)
            timestamps.append(timestamp)
            keys.append(key)
            values.append(value)
            if event is not None:
                events.append(event)
        return Decoded(
            batch.partition,
            offsets,
            timestamps,
            keys,
            np.array(values, dtype=self.domain.dtype),
            None if self.event is None else events,
            dead,
        )

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
        for field in fields:
            number = record.get(field) if isinstance(record, dict) else None
            if isinstance(number, float) and not isfinite(number):
                return Refused(Reason.NOT_FINITE, field)
        return Refused(Reason.NOT_JSON)


def _event(record: Record, field: str) -> int:
    value = required(record, field)
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise Refused(Reason.WRONG_TYPE, field)
    return event_digest(value)
