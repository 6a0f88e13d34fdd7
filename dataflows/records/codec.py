"""Read and write whole records; no field is looked at but those of the pipeline file.

Every record that is not exactly what the pipeline file declares becomes a dead letter, and its
neighbours are unharmed. Records are read some at a time, column by column. Where one of those is
refused, they are read again one by one, and that decides.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import orjson
from numpy.typing import DTypeLike

from fugu.dataflows.base.batches import (
    Batch,
    DeadLetters,
    Decoded,
    Header,
    Reason,
    RefusedRecords,
)
from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.base.field_paths import placed
from fugu.dataflows.records.deduplication import event_digest
from fugu.dataflows.records.envelopes import Debezium, Envelope
from fugu.dataflows.records.exact_numbers import holds_no_number, rounded
from fugu.dataflows.records.json_fields import FieldTimestamp, Record, Refused, required
from fugu.dataflows.records.origins import without_foreign
from fugu.dataflows.records.record_shape import RecordShape
from fugu.dataflows.records.registered import Wire
from fugu.dataflows.records.released_as import ReleasedAs
from fugu.dataflows.records.times_ahead import without_times_ahead
from fugu.dataflows.records.user_keys import user_key
from fugu.operators import compiled
from fugu.operators.mechanism import Releases

if TYPE_CHECKING:
    from fugu.dataflows.records.scanner import Scanner

LARGEST_KEY_BYTES = 65_536
"""Keys live in the state, and with `sink.key: original` in what is published."""
READ_TOGETHER = 256
"""Records that are read together: they stay in the cache, and a refused one delays few others."""
WORTH_SCANNING = 10
"""Smaller batches are read no faster by compiled code."""

Value = int | bytes | tuple[int, int] | None


class Values(Protocol):
    """Read the values of a mechanism from records, in one field or more."""

    released_as: ClassVar[ReleasedAs]
    """How releases of these values show what they release."""

    @property
    def field(self) -> str:
        """Return the field, or the first one."""
        ...

    @property
    def fields(self) -> Sequence[str]:
        """Return all fields."""
        ...

    @property
    def dtype(self) -> DTypeLike:
        """Return the type of a column of values."""
        ...

    def read(self, record: Record) -> Value:
        """Return the value as the mechanism reads it; `Refused` if it is none."""
        ...

    def read_column(self, records: Sequence[Record]) -> Sequence[Value]:
        """Read many records at once; `Refused` if `read` refuses one."""
        ...


@runtime_checkable
class Domain(Values, Protocol):
    """Read and write the values of a mechanism as JSON, one release for one record or tick."""

    def write(self, releases: Releases) -> Sequence[bytes]:
        """Write one JSON object per release."""
        ...


@dataclass
class _Read:
    """Hold what was read of the accepted records of a batch, and which ones are refused."""

    keys: list[bytes] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    refused: set[int] = field(default_factory=set)
    dead: DeadLetters = field(default_factory=DeadLetters)
    timed: RefusedRecords = field(default_factory=RefusedRecords)


@dataclass(frozen=True)
class Codec:
    """Read the records of one pipeline: values, times and, where duplicates go, event ids.

    Fields in `exact` may hold no number that reading would round. A time may be `max_ahead`
    milliseconds after that of its record in Kafka. Records may be in an `envelope`. Fields in
    `numbers` may hold a number as text. Without a `wire`, records are JSON. Users are named by the
    field `key`, or else by the keys of Kafka. Where records are `forwarded`, those keys tell where
    they come from.
    """

    domain: Values
    max_value_bytes: int
    timestamp: FieldTimestamp | None = None
    event: str | None = None
    exact: tuple[str, ...] = ()
    max_ahead: int | None = None
    envelope: Envelope | None = None
    numbers: tuple[str, ...] = ()
    wire: Wire | None = None
    key: str | None = None
    forwarded: bool = False

    @property
    def reads_headers(self) -> bool:
        """Return whether records are read with their headers."""
        return self.envelope is not None and self.envelope.reads_headers

    def decode(self, batch: Batch) -> Decoded:
        """Split a batch into accepted columns and dead letters."""
        decoded = self._decode(batch)
        if self.forwarded:
            decoded = without_foreign(batch, decoded)
        if self.timestamp is None or self.max_ahead is None:
            return decoded
        return without_times_ahead(batch, decoded, self.max_ahead, self.timestamp.field)

    def _decode(self, batch: Batch) -> Decoded:
        columns, count = isinstance(batch.values, OptionalByteColumn), len(batch.offsets)
        if columns and count >= WORTH_SCANNING and self.scanner is not None:
            from fugu.dataflows.records.column_decoding import decode_columns

            return decode_columns(
                batch, self.scanner, LARGEST_KEY_BYTES, self.wire, self._decode_lists
            )
        return self._decode_lists(batch)

    def opened(self, content: bytes) -> Record:
        """Return the object in which paths begin, of a record without headers."""
        record = self._shape.opened(self._loads(content), [])
        return placed(record) if self._is_flat else record

    @property
    def on_plain_json(self) -> "Codec":
        """Return a codec that reads the same paths in objects of JSON, for made-up records, which
        have keys."""
        return replace(self, envelope=None, wire=None, key=None, forwarded=False)

    def keys_of(self, batch: Batch) -> Sequence[bytes | None]:
        """Return the key of the user of each record; None where nobody can be read."""
        if self.key is None:
            return batch.keys
        pairs = zip(batch.values, batch.headers, strict=True)
        return [self._key_of(content, headers) for content, headers in pairs]

    def _key_of(self, content: bytes | None, headers: Sequence[Header]) -> bytes | None:
        """Return who a record is about, whatever else it holds; None where that cannot be read."""
        assert self.key is not None
        record = self._anyhow(content, headers)
        try:
            key = b"" if record is None else user_key(record, self.key)
        except Refused:
            return None
        return key if 0 < len(key) <= LARGEST_KEY_BYTES else None

    @cached_property
    def scanner(self) -> "Scanner | None":
        """Return what reads most records of a column, where that can be compiled."""
        if self.envelope is not None or not compiled.available():
            return None
        if self.wire is not None and not self.wire.is_projected:
            return None
        from fugu.dataflows.records.scanner import scanner_of

        return scanner_of(
            self.domain, self.max_value_bytes, self.timestamp, self.event, self.exact, self.key
        )

    def warm_up(self) -> None:
        """Compile what reads columns, before the first record waits for it."""
        if self.wire is not None:
            self.wire.prepare()
        if self.scanner is not None:
            self.scanner.read(OptionalByteColumn.of([b"{}"]))
            if self.wire is not None:
                self.wire.warm_up()

    def is_ready(self, batch: Batch) -> bool:
        """Return whether a batch can be read at once, or waits for a schema."""
        return self.wire is None or self.wire.is_ready(batch.values)

    def _decode_lists(self, batch: Batch) -> Decoded:
        read, count = _Read(), len(batch.offsets)
        arrivals = _arrivals(batch.timestamps)
        suspicious = False
        for first in range(0, count, READ_TOGETHER):
            end = min(first + READ_TOGETHER, count)
            if suspicious or not self._read_together(batch, first, end, read):
                known = len(read.refused)
                self._read_each(batch, arrivals, first, end, read)
                suspicious = len(read.refused) > known
        offsets = batch.offsets
        if read.refused:
            kept = [index for index in range(count) if index not in read.refused]
            offsets = [offsets[i] for i in kept]
            arrivals = [arrivals[i] for i in kept]
        return Decoded(
            batch.partition,
            offsets,
            arrivals if self.timestamp is None else read.times,
            read.keys,
            np.array(read.values, dtype=self.domain.dtype),
            None if self.event is None else read.events,
            read.dead,
            read.timed,
        )

    def _read_together(self, batch: Batch, first: int, end: int, read: _Read) -> bool:
        """Read some records, or none of them because one is to be refused."""
        keys = list(filter(None, batch.keys[first:end])) if self.key is None else []
        contents = list(filter(None, batch.values[first:end]))
        if (self.key is None and len(keys) < end - first) or len(contents) < end - first:
            return False
        if max(map(len, contents)) > self.max_value_bytes:
            return False
        try:
            records = list(map(self._loads, contents))
            if self._shape.changes_nothing:
                if set(map(type, records)) != {dict}:
                    return False
            else:
                some = zip(records, batch.headers[first:end], strict=True)
                records = [self._shape.shaped(record, headers) for record, headers in some]
            if self.key is not None:
                keys = [user_key(record, self.key) for record in records]
            values = self.domain.read_column(records)
            times = [] if self.timestamp is None else self.timestamp.read_column(records)
            events = [] if self.event is None else [_event(r, self.event) for r in records]
        except (orjson.JSONDecodeError, Refused):
            return False
        if max(map(len, keys)) > LARGEST_KEY_BYTES:
            return False
        if self.exact and any(
            self._rounded(*one)
            for one in zip(contents, records, batch.headers[first:end], strict=True)
        ):
            return False
        read.keys += keys
        read.values += values
        read.times += times
        read.events += events
        return True

    def _read_each(
        self, batch: Batch, arrivals: Sequence[int], first: int, end: int, read: _Read
    ) -> None:
        """Read or refuse every record by itself."""
        for index in range(first, end):
            try:
                if self.key is None:
                    key = _required_key(batch.keys[index])
                    record = self._parse(batch.values[index], batch.headers[index])
                else:
                    record = self._parse(batch.values[index], batch.headers[index])
                    key = _required_key(user_key(record, self.key), self.key)
                value = self.domain.read(record)
                times = [] if self.timestamp is None else [self.timestamp.read(record)]
                events = [] if self.event is None else [_event(record, self.event)]
            except Refused as refusal:
                read.refused.add(index)
                read.dead.add(batch.offsets[index], arrivals[index], refusal.reason, refusal.field)
                self._note_time(batch, arrivals, index, read)
                continue
            read.keys.append(key)
            read.values.append(value)
            read.times += times
            read.events += events

    def _note_time(self, batch: Batch, arrivals: Sequence[int], index: int, read: _Read) -> None:
        """Note time and key of a refused record, if they can be read."""
        content, headers = batch.values[index], batch.headers[index]
        key = batch.keys[index] if self.key is None else self._key_of(content, headers)
        if not key or len(key) > LARGEST_KEY_BYTES:
            return
        time: int | None = arrivals[index]
        if self.timestamp is not None:
            time = self._time(content, headers, self.timestamp)
        if time is not None:
            read.timed.offsets.append(batch.offsets[index])
            read.timed.timestamps.append(time)
            read.timed.keys.append(key)

    def encode(self, releases: Releases) -> Sequence[bytes]:
        """Write one JSON object per release, where values are released as they are read."""
        assert isinstance(self.domain, Domain)
        return self.domain.write(releases)

    def _parse(self, content: bytes | None, headers: Sequence[Header]) -> Record:
        if content is None:
            raise Refused(self._of_nothing)
        if len(content) > self.max_value_bytes:
            raise Refused(Reason.TOO_LARGE)
        try:
            record = self._loads(content)
        except orjson.JSONDecodeError:
            raise self._refusal(content, headers) from None
        record = self._shape.shaped(record, headers)
        if self.exact and self._rounded(content, record, headers):
            raise Refused(Reason.OUTSIDE_DOMAIN, self.exact[0])
        return record

    def _refusal(self, content: bytes, headers: Sequence[Header]) -> Refused:
        """Tell a number that JSON cannot hold from text that is no JSON at all."""
        try:
            record = self._shape.shaped(_any_json(content), headers)
        except Refused:
            record = {}
        fields = [self.domain.field] + ([self.timestamp.field] if self.timestamp else [])
        for name in fields:
            number = record.get(name)
            if isinstance(number, float) and not isfinite(number):
                return Refused(Reason.NOT_FINITE, name)
        return Refused(Reason.NOT_JSON)

    @property
    def _of_nothing(self) -> Reason:
        """Return why a record without a value is refused; of rows it says that one is gone."""
        return Reason.ROW_DELETED if isinstance(self.envelope, Debezium) else Reason.TOMBSTONE

    @property
    def _loads(self) -> Callable[[bytes], Any]:
        return orjson.loads if self.wire is None else self.wire.read

    @property
    def names(self) -> list[str]:
        """Return the fields that are read."""
        names = [*self.domain.fields, *self.exact]
        names += [] if self.key is None else [self.key]
        names += [] if self.timestamp is None else [self.timestamp.field]
        return names + ([] if self.event is None else [self.event])

    @cached_property
    def _shape(self) -> RecordShape:
        if self._is_flat:
            return RecordShape(None, (), self.numbers)
        return RecordShape.of(self.envelope, self.names, self.numbers)

    @property
    def _is_flat(self) -> bool:
        return self.wire is not None and self.wire.is_flat

    def _rounded(self, content: bytes, record: Record, headers: Sequence[Header]) -> bool:
        if self.wire is not None:
            return any(holds_no_number(record.get(name)) for name in self.exact)
        opened = partial(self._shape.opened, headers=headers)
        return rounded(content, record, self.exact, opened)

    def _time(
        self, content: bytes | None, headers: Sequence[Header], timestamp: FieldTimestamp
    ) -> int | None:
        """Return the time of a record, whatever else it holds."""
        record = self._anyhow(content, headers)
        try:
            return None if record is None else timestamp.read(record)
        except Refused:
            return None

    def _anyhow(self, content: bytes | None, headers: Sequence[Header]) -> Record | None:
        """Return the fields of a record that may have nothing to release; None if it has none."""
        try:
            parsed = self._loads(content or b"")
        except Refused:
            return None
        except orjson.JSONDecodeError:
            parsed = _any_json(content or b"")
        try:
            return self._shape.shaped_anyhow(parsed, headers)
        except Refused:
            return None


def _required_key(key: bytes | None, field: str = "") -> bytes:
    if not key:
        raise Refused(Reason.NO_KEY, field)
    if len(key) > LARGEST_KEY_BYTES:
        raise Refused(Reason.TOO_LARGE, field)
    return key


def _arrivals(timestamps: Sequence[int]) -> Sequence[int]:
    """Return when records were written; a producer may say that it was before 1970."""
    if min(timestamps, default=0) >= 0:
        return timestamps
    return [max(one, 0) for one in timestamps]


def _any_json(content: bytes) -> object:
    """Return JSON, with numbers that it cannot hold; None where the content is neither."""
    try:
        return json.loads(content.decode())
    except (ValueError, RecursionError):
        return None


def _event(record: Record, field: str) -> int:
    value = required(record, field)
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise Refused(Reason.WRONG_TYPE, field)
    return event_digest(value)
