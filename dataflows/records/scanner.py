"""Read values, times and events of records by compiled code, where it is sure of them."""

import logging
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import orjson

from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.records.column_readers import Reader, reader_of
from fugu.dataflows.records.json_fields import LATEST_TIMESTAMP, FieldTimestamp, TextTimestamp
from fugu.dataflows.records.lenient_json import lenient
from fugu.dataflows.records.scanned.compiled_objects import (
    ABSENT,
    ESCAPED_TEXT,
    FALSE,
    LIST,
    NULL,
    OBJECT,
    TEXT,
    TRUE,
    Flags,
)
from fugu.dataflows.records.scanned.compiled_texts import (
    DECIMAL,
    INTEGER,
    LONG_DECIMAL,
    OTHER_NUMBER,
)
from fugu.dataflows.records.scanned.compiled_values import (
    LONGEST_EVENT_BYTES,
    PREFIX_BYTES,
    read_events,
    read_times,
)
from fugu.dataflows.records.scanned.spans import FieldNames, Spans
from fugu.operators.columns import ByteColumn, bytes_of
from fugu.operators.compiled_blake2b import LANES, Lanes, fresh_state
from fugu.operators.mechanism import Array, Integers, Words

log = logging.getLogger(__name__)

_TYPES: dict[int, set[type]] = {
    int(INTEGER): {int},
    int(DECIMAL): {float},
    int(LONG_DECIMAL): {float},
    int(OTHER_NUMBER): {int, float},
    int(TEXT): {str},
    int(ESCAPED_TEXT): {str},
    int(TRUE): {bool},
    int(FALSE): {bool},
    int(NULL): {type(None)},
    int(LIST): {list},
    int(OBJECT): {dict},
}
_MAY_BE_ODD = {ESCAPED_TEXT, OTHER_NUMBER}
_WRITTEN_AGAIN = {INTEGER, DECIMAL, TEXT, TRUE, FALSE, NULL}
_VALUES = (
    b'"" "text" "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa1" "\xef\xbf\xbf" "\xf4\x8f\xbf\xbf" "\x7f" '
    b'"\\u0041\\n\\/" "\\ud800" "\\ud83d\\ude00" "\xed\xa0\x80" "\xc0\x80" "\xff" "\t" "\\a" "open '
    b"0 -0 7 -7 01 +1 1. .5 - 999999999999999999 18446744073709551615 18446744073709551616 0x1 "
    b"0.5 -0.0 0.0001 71.25 1234567.12345678 0.30000000000000004 1e5 1E-5 1e999 NaN Infinity "
    b"true false null True nul [] [1,2] [1,] {} {} } [[{}]] //"
).split(b" ")
_RECORDS = [
    *(b'{"a":%b}' % value for value in _VALUES),
    b' \t\r\n{ "b" : 1 , "a" : 2 } \n',
    b'{"a":1,"a":"last"}',
    b'{"a":1}\0',
    b'{"a":1}}',
    b'{"a":1,}',
    b'\xef\xbb\xbf{"a":1}',
    b'{"a":' + b"[" * 59 + b"]" * 59 + b"}",
    b"",
]
_FIELD, _LONGEST = "a", 1_000


@cache
def agrees_with_orjson() -> bool:
    """Return whether the two agree on records of every shape."""
    spans = Spans(OptionalByteColumn.of(_RECORDS), _LONGEST, FieldNames.of([_FIELD]))
    kinds, begins, ends = (column.tolist() for column in spans.of(_FIELD)[1:4])
    content = spans.of(_FIELD).content
    for number, (record, sure) in enumerate(zip(_RECORDS, spans.sure.tolist(), strict=True)):
        text = content[begins[number] : ends[number]].tobytes()
        if sure and not _is_read(record, kinds[number], text):
            log.warning(
                "records are read by orjson alone: version %s reads JSON in a way of its own "
                "(case %d of the self-check)",
                orjson.__version__,
                number,
            )
            return False
    return True


def _is_read(record: bytes, kind: int, text: bytes) -> bool:
    """Return whether orjson reads the field of a record as the scanner does."""
    try:
        value = orjson.loads(record)[_FIELD]
    except orjson.JSONDecodeError:
        return kind in _MAY_BE_ODD and _is_odd_json(record)
    except KeyError:
        return False
    if type(value) not in _TYPES[kind]:
        return False
    return kind not in _WRITTEN_AGAIN or orjson.dumps(value) == text


def _is_odd_json(record: bytes) -> bool:
    """Return whether nothing but what no program can hold keeps orjson from reading a record."""
    try:
        return lenient(record).is_json
    except orjson.JSONDecodeError:
        return False


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
