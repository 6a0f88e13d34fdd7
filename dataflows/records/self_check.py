"""Check once that the installed orjson reads what the scanner is sure of."""

import logging
from functools import cache

import orjson

from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.records.lenient_json import lenient
from fugu.dataflows.records.scanned.compiled_numerals import (
    DECIMAL,
    INTEGER,
    LONG_DECIMAL,
    OTHER_NUMBER,
)
from fugu.dataflows.records.scanned.compiled_objects import (
    ESCAPED_TEXT,
    FALSE,
    LIST,
    NULL,
    OBJECT,
    TEXT,
    TRUE,
)
from fugu.dataflows.records.scanned.spans import FieldNames, Spans

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
