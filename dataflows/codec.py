"""JSON in and out. Input is an allow-list: only the configured fields are ever looked at.

Every record that is not exactly what the pipeline file declares becomes a dead letter, and its
neighbours are unharmed. Types are strict: `"3"` is not `3`, `true` is not `1`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
import orjson

from dataflows.batches import Batch, DeadLetters, Decoded, Reason
from dataflows.deduplication import event_digest
from operators.mechanism import Kind, Releases

LATEST_TIMESTAMP = 253_402_300_799_999
"""The last millisecond of the year 9999; anything beyond is a mistake of the producer."""

LARGEST_KEY_BYTES = 65_536
"""Keys live in the state, and with `sink.key: original` in what is published."""

CONFIDENCE_STEPS = 10_000


_CONFIDENCES = [b"%.4f" % (step / CONFIDENCE_STEPS) for step in range(CONFIDENCE_STEPS + 1)]
_NO_CONFIDENCE = len(_CONFIDENCES)
_CONFIDENCES.append(b"null")


class Refused(Exception):
    """One record is not acceptable."""

    def __init__(self, reason: Reason, field: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.field = field


@dataclass(frozen=True)
class FieldTimestamp:
    """Event time from a field of the record, in whole units since 1970."""

    field: str
    milliseconds_per_unit: int

    def read(self, record: dict[str, object]) -> int:
        """Milliseconds since 1970."""
        value = _required(record, self.field)
        if type(value) is not int:
            raise Refused(Reason.WRONG_TYPE, self.field)
        milliseconds = value * self.milliseconds_per_unit
        if not 0 <= milliseconds <= LATEST_TIMESTAMP:
            raise Refused(Reason.OUTSIDE_DOMAIN, self.field)
        return milliseconds


class SymbolCodec:
    """Reads one field as a symbol of a declared alphabet, and writes releases of such symbols."""

    def __init__(
        self,
        field: str,
        alphabet: Sequence[str] | Sequence[int],
        *,
        other: str | int | None = None,
        max_value_bytes: int,
        timestamp: FieldTimestamp | None = None,
        event: str | None = None,
    ) -> None:
        self._field = field
        self._index: dict[object, int] = {symbol: i for i, symbol in enumerate(alphabet)}
        self._type = type(alphabet[0])
        self._other = None if other is None else self._index[other]
        self._max_value_bytes = max_value_bytes
        self._timestamp = timestamp
        self._event = event
        name = orjson.dumps(field)
        self._starts = [
            b"{" + name + b":" + orjson.dumps(symbol) + b',"confidence":' for symbol in alphabet
        ]
        self._ends = {
            Kind.FRESH: [confidence + b"}" for confidence in _CONFIDENCES],
            Kind.REPEATED: [confidence + b',"repeated":true}' for confidence in _CONFIDENCES],
        }

    def decode(self, batch: Batch) -> Decoded:
        """Split a batch into accepted columns and dead letters."""
        offsets, timestamps, keys, symbols, events = [], [], [], [], []
        dead = DeadLetters()
        for offset, arrived, key, value in zip(
            batch.offsets, batch.timestamps, batch.keys, batch.values, strict=True
        ):
            arrival = max(arrived, 0)
            try:
                if not key:
                    raise Refused(Reason.NO_KEY)
                if len(key) > LARGEST_KEY_BYTES:
                    raise Refused(Reason.TOO_LARGE)
                record = self._parse(value)
                symbol = self._symbol(record)
                timestamp = arrival if self._timestamp is None else self._timestamp.read(record)
                event = None if self._event is None else _event(record, self._event)
            except Refused as refusal:
                dead.add(offset, arrival, refusal.reason, refusal.field)
                continue
            offsets.append(offset)
            timestamps.append(timestamp)
            keys.append(key)
            symbols.append(symbol)
            if event is not None:
                events.append(event)
        return Decoded(
            batch.partition,
            offsets,
            timestamps,
            keys,
            np.array(symbols, dtype=np.int64),
            None if self._event is None else events,
            dead,
        )

    def encode(self, releases: Releases) -> list[bytes]:
        """One JSON object per release: the symbol, and the probability that it is the true one,
        null where nothing is said about it."""
        confidence = releases.annotations["confidence"]
        steps = np.where(
            np.isnan(confidence), _NO_CONFIDENCE, np.floor(confidence * CONFIDENCE_STEPS + 0.5)
        )
        kinds = [Kind.FRESH] * len(steps) if releases.kinds is None else releases.kinds.tolist()
        starts, ends = self._starts, self._ends
        return [
            starts[symbol] + ends[kind][step]
            for symbol, kind, step in zip(
                releases.values.tolist(), kinds, steps.astype(np.int64).tolist(), strict=True
            )
        ]

    def _parse(self, value: bytes | None) -> dict[str, object]:
        if value is None:
            raise Refused(Reason.TOMBSTONE)
        if len(value) > self._max_value_bytes:
            raise Refused(Reason.TOO_LARGE)
        try:
            record = orjson.loads(value)
        except orjson.JSONDecodeError:
            raise self._refusal(value) from None
        if type(record) is not dict:
            raise Refused(Reason.WRONG_TYPE)
        return record

    def _refusal(self, value: bytes) -> Refused:
        """Tell a number that JSON cannot hold from text that is no JSON at all."""
        try:
            record = json.loads(value.decode())
        except (ValueError, RecursionError):
            return Refused(Reason.NOT_JSON)
        fields = [self._field] + ([self._timestamp.field] if self._timestamp else [])
        for field in fields:
            number = record.get(field) if isinstance(record, dict) else None
            if isinstance(number, float) and not isfinite(number):
                return Refused(Reason.NOT_FINITE, field)
        return Refused(Reason.NOT_JSON)

    def _symbol(self, record: dict[str, object]) -> int:
        value = _required(record, self._field)
        if type(value) is not self._type:
            raise Refused(Reason.WRONG_TYPE, self._field)
        symbol = self._index.get(value, self._other)
        if symbol is None:
            raise Refused(Reason.OUTSIDE_DOMAIN, self._field)
        return symbol


def _required(record: dict[str, object], field: str) -> object:
    try:
        return record[field]
    except KeyError:
        raise Refused(Reason.FIELD_MISSING, field) from None


def _event(record: dict[str, object], field: str) -> int:
    value = _required(record, field)
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise Refused(Reason.WRONG_TYPE, field)
    return event_digest(value)
