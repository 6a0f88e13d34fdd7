"""Read values, times and events of records by compiled code, where it is sure of them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.records.column_readers import Reader, reader_of
from fugu.dataflows.records.json_fields import LATEST_TIMESTAMP, FieldTimestamp, TextTimestamp
from fugu.dataflows.records.scanned.compiled_events import (
    LONGEST_EVENT_BYTES,
    PREFIX_BYTES,
    read_events,
)
from fugu.dataflows.records.scanned.compiled_numerals import DECIMAL, INTEGER
from fugu.dataflows.records.scanned.compiled_objects import (
    ABSENT,
    FALSE,
    NULL,
    TEXT,
    TRUE,
    Flags,
)
from fugu.dataflows.records.scanned.compiled_units import read_times
from fugu.dataflows.records.scanned.spans import FieldNames, Spans
from fugu.dataflows.records.self_check import agrees_with_orjson
from fugu.operators.byte_column import ByteColumn, bytes_of
from fugu.operators.compiled_blake2b import Lanes
from fugu.operators.compiled_blake2b_block import LANES, fresh_state
from fugu.operators.mechanism import Array, Integers, Words

_NEVER_ROUNDED = [ABSENT, TEXT, TRUE, FALSE, NULL, INTEGER, DECIMAL]


@dataclass(frozen=True)
class Found:
    """Hold what was found in each record; where it is not `sure`, that means nothing."""

    sure: Flags
    values: Array
    times: Integers | None
    events: Words | None
    keys: ByteColumn | None
    """Users that a field names; None where the key of Kafka does."""


@dataclass(frozen=True)
class Scanner:
    """Read records as the codec with the same fields does."""

    values: Reader
    max_value_bytes: int
    timestamp: FieldTimestamp | None
    event: str | None
    exact: tuple[str, ...]
    key: str | None

    def read(self, records: OptionalByteColumn) -> Found:
        """Return what is sure about the fields of these records."""
        spans = Spans(records, self.max_value_bytes, self._names)
        for name in self.exact:
            np.logical_and(spans.sure, np.isin(spans.of(name).kinds, _NEVER_ROUNDED), spans.sure)
        return Found(
            spans.sure,
            self.values.read(spans),
            None if self.timestamp is None else _times(spans, self.timestamp),
            None if self.event is None else _events(spans, self.event),
            None if self.key is None else _keys(spans, self.key),
        )

    @cached_property
    def _names(self) -> FieldNames:
        asked = [] if self.timestamp is None else [self.timestamp.field]
        asked += [name for name in (self.event, self.key) if name is not None]
        return FieldNames.of([*self.values.fields, *asked, *self.exact])


def scanner_of(
    domain: object,
    max_value_bytes: int,
    timestamp: FieldTimestamp | None,
    event: str | None,
    exact: tuple[str, ...],
    key: str | None,
) -> Scanner | None:
    """Return what reads as a codec with these fields does; None where that takes the codec."""
    values = reader_of(domain)
    if values is None or isinstance(timestamp, TextTimestamp) or not agrees_with_orjson():
        return None
    return Scanner(values, max_value_bytes, timestamp, event, exact, key)


def _times(spans: Spans, timestamp: FieldTimestamp) -> Integers:
    times = np.zeros(len(spans.sure), dtype=np.int64)
    unit = timestamp.milliseconds_per_unit
    read_times(*spans.of(timestamp.field), unit, LATEST_TIMESTAMP, times)
    return times


def _keys(spans: Spans, field: str) -> ByteColumn:
    """Return the bytes of each text without its quotes, or of each whole number as it is."""
    content, kinds, begins, ends, sure = spans.of(field)
    quoted = kinds == TEXT
    np.logical_and(sure, quoted | (kinds == INTEGER), sure)
    begins, ends = np.where(sure, begins + quoted, 0), np.where(sure, ends - quoted, 0)
    return ByteColumn(content, begins, ends - begins)


def _events(spans: Spans, field: str) -> Words:
    digests = np.zeros(len(spans.sure), dtype=np.uint64)
    fresh = fresh_state(key_bytes=0, digest_bytes=digests.itemsize)
    lanes = Lanes.of(bytes_of(b""), fresh, PREFIX_BYTES + LONGEST_EVENT_BYTES)
    waiting = np.zeros(LANES, dtype=np.int64)
    read_events(*spans.of(field), fresh, lanes, waiting, digests)
    return digests
