"""Read one record: its fields, its user and its time, or why it is refused.

No field is looked at but those of the pipeline file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import orjson

from fugu.dataflows.base.batches import Header, Reason
from fugu.dataflows.base.field_paths import placed
from fugu.dataflows.records.deduplication import event_digest
from fugu.dataflows.records.envelopes import Debezium, Envelope
from fugu.dataflows.records.json_fields import FieldTimestamp, Record, Refused, required, user_key
from fugu.dataflows.records.lenient_json import (
    Lenient,
    holds_no_number,
    lenient,
    rounded,
    trouble,
    why_no_json,
)
from fugu.dataflows.records.record_shape import RecordShape
from fugu.dataflows.records.registered import Wire, schema_id
from fugu.dataflows.records.values import Values

LARGEST_KEY_BYTES = 65_536
"""Keys live in the state, and with `sink.key: original` in what is published."""


@dataclass(frozen=True)
class RecordReading:
    """Read the records of one pipeline: values, times and, where duplicates go, event ids.

    Fields in `exact` may hold no number that reading would round. Records may be in an `envelope`.
    Fields in `numbers` may hold a number as text. Without a `wire`, records are JSON. Users are
    named by the field `key`, or else by the keys of Kafka.
    """

    domain: Values
    max_value_bytes: int
    timestamp: FieldTimestamp | None = None
    event: str | None = None
    exact: tuple[str, ...] = ()
    envelope: Envelope | None = None
    numbers: tuple[str, ...] = ()
    wire: Wire | None = None
    key: str | None = None

    @property
    def reads_headers(self) -> bool:
        """Return whether records are read with their headers."""
        return self.envelope is not None and self.envelope.reads_headers

    @property
    def names(self) -> list[str]:
        """Return the fields that are read."""
        names = [*self.domain.fields, *self.exact]
        names += [] if self.key is None else [self.key]
        names += [] if self.timestamp is None else [self.timestamp.field]
        return names + ([] if self.event is None else [self.event])

    def opened(self, content: bytes) -> Record:
        """Return the object in which paths begin, of a record without headers.

        `Refused` where a field that is read holds nothing that can be written again.
        """
        try:
            record = self.shape.opened(self.loads(content), [])
        except orjson.JSONDecodeError:
            found = self._lenient(content)
            self._require_readable(content, found, self.shape.shaped(found.parsed, []))
            record = self.shape.opened(found.parsed, [])
        return placed(record) if self._is_flat else record

    def parse(self, content: bytes | None, headers: Sequence[Header]) -> Record:
        """Return the fields of a record; `Refused` where nothing can be read of it."""
        if content is None:
            raise Refused(self._of_nothing)
        if len(content) > self.max_value_bytes:
            raise Refused(Reason.TOO_LARGE)
        try:
            record = self.loads(content)
            shaped = self.shape.shaped(record, headers)
        except orjson.JSONDecodeError:
            shaped = self._read_leniently(content, headers)
        if self.exact and self.is_rounded(content, shaped, headers):
            raise Refused(Reason.OUTSIDE_DOMAIN, self.exact[0])
        return shaped

    def _read_leniently(self, content: bytes, headers: Sequence[Header]) -> Record:
        """Return the fields of a record that orjson refuses for something that is not read."""
        found = self._lenient(content)
        try:
            record = self.shape.shaped(found.parsed, headers)
        except Refused:
            if not found.is_json:
                raise self._no_json(content) from None
            raise
        self._require_readable(content, found, record)
        return record

    def _require_readable(self, content: bytes, found: Lenient, record: Record) -> None:
        """Raise `Refused` where a field that is read holds no number or text, or all is no JSON."""
        for name in self.names:
            reason = trouble(record.get(name))
            if reason is not None:
                raise Refused(reason, name)
        if not found.is_json:
            raise self._no_json(content)

    def _lenient(self, content: bytes) -> Lenient:
        """Return JSON, with marks where it holds what no program can; `Refused` if it is none."""
        text = self._json_in(content)
        assert text is not None
        try:
            return lenient(text)
        except orjson.JSONDecodeError:
            raise self._no_json(content) from None

    def _no_json(self, content: bytes) -> Refused:
        """Return why content is refused that holds no JSON."""
        if self.wire is None:
            return Refused(why_no_json(content))
        return Refused(Reason.NOT_AS_SCHEMA, f"schema {schema_id(content)}")

    def _json_in(self, content: bytes) -> bytes | None:
        return content if self.wire is None else self.wire.json_in(content)

    @property
    def _of_nothing(self) -> Reason:
        """Return why a record without a value is refused; of rows it says that one is gone."""
        return Reason.ROW_DELETED if isinstance(self.envelope, Debezium) else Reason.TOMBSTONE

    @property
    def loads(self) -> Callable[[bytes], Any]:
        """Return what makes a value of content."""
        return orjson.loads if self.wire is None else self.wire.read

    @cached_property
    def shape(self) -> RecordShape:
        """Return what finds the fields in such a value."""
        if self._is_flat:
            return RecordShape(None, (), self.numbers)
        return RecordShape.of(self.envelope, self.names, self.numbers)

    @property
    def _is_flat(self) -> bool:
        return self.wire is not None and self.wire.is_flat

    def is_rounded(self, content: bytes, record: Record, headers: Sequence[Header]) -> bool:
        """Return whether a field in `exact` holds a number that reading has rounded."""
        text = self._json_in(content)
        if text is None:
            return any(holds_no_number(record.get(name)) for name in self.exact)
        opened = partial(self.shape.opened, headers=headers)
        return rounded(text, record, self.exact, opened)

    def key_of(self, content: bytes | None, headers: Sequence[Header]) -> bytes | None:
        """Return who a record is about, whatever else it holds; None where that cannot be read."""
        assert self.key is not None
        record = self._anyhow(content, headers)
        try:
            key = b"" if record is None else user_key(record, self.key)
        except Refused:
            return None
        return key if 0 < len(key) <= LARGEST_KEY_BYTES else None

    def time_of(
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
            try:
                return self.shape.shaped_anyhow(self.loads(content or b""), headers)
            except orjson.JSONDecodeError:
                found = self._lenient(content or b"")
                record = self.shape.shaped_anyhow(found.parsed, headers)
        except Refused:
            return None
        there = (name for name in self.names if name in record)
        return {name: record[name] for name in there if trouble(record[name]) is None}


def required_key(key: bytes | None, field: str = "") -> bytes:
    """Return the key of a user; `Refused` where there is none, or it is too large."""
    if not key:
        raise Refused(Reason.NO_KEY, field)
    if len(key) > LARGEST_KEY_BYTES:
        raise Refused(Reason.TOO_LARGE, field)
    return key


def event_of(record: Record, field: str) -> int:
    """Return the digest of the event id in a field; `Refused` where it is none."""
    value = required(record, field)
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise Refused(Reason.WRONG_TYPE, field)
    return event_digest(value)
