r"""Read JSON that holds what no program can: numbers beyond all doubles, halves of surrogate pairs.

RFC 8259 allows both, and orjson refuses the whole text for either. A record is refused only where
a field holds one that the pipeline reads. So each of them is replaced by a mark, and orjson looks
at all the rest. `NaN` and `Infinity`, which Python writes, are marked, too: such a text is no JSON,
but its other fields can be read.

>>> found = lenient(b'{"zone": "rest", "note": "\\ud83d", "count": 1e999}')
>>> found.parsed["zone"], trouble(found.parsed["note"]), trouble(found.parsed["count"])
('rest', <Reason.WRONG_TYPE: 'wrong_type'>, <Reason.NOT_FINITE: 'not_finite'>)

>>> import orjson
>>> def is_rounded(content: bytes) -> bool:
...     return rounded(content, orjson.loads(content), ["meter"])
>>> is_rounded(b'{"meter": 0.1, "serial": 12345678901234567890123}')
False
>>> is_rounded(b'{"meter": [0.10000000000000000001]}')
True
"""

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from math import isfinite, isinf
from secrets import token_hex

import orjson

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.field_paths import flattened
from fugu.dataflows.base.section import INTEGERS
from fugu.dataflows.records.json_fields import Record

_ODD, _NO_JSON, _HALF = (f"\ufdd0{token_hex(16)}\ufdd1" for _ in range(3))
"""Marks that nobody can write into a record: compiled code reads such a record, and knows none."""
_TOKEN = re.compile(
    rb"""
    (?P<plain>(?:                                     # much at once, because most is neither
        [^"0-9NI-]++
        | "(?:[^"\\]++|\\(?!u[dD][89a-fA-F]).)*+"
        | -?+[0-9][0-9.]{0,15}+(?![0-9.eE+-])         # a double tells these from any other
    )++)
    | "(?:[^"\\]++|\\.)*+"?+                        # closed or not: no byte is looked at twice
    | -?+[0-9][0-9.eE+-]*+
    | -?+(?:NaN|Infinity)
    """,
    re.DOTALL | re.VERBOSE,
)
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class Lenient:
    """Hold what a text holds, with marks; it may be no JSON for nothing but `NaN` or the like."""

    parsed: object
    is_json: bool


def lenient(content: bytes) -> Lenient:
    """Read a text that orjson refuses; `orjson.JSONDecodeError` where its structure is wrong."""
    text = marked(content, lambda number: isinf(float(number)))
    return Lenient(orjson.loads(text), _NO_JSON.encode() not in text)


def json_of(content: bytes) -> object:
    """Return what JSON holds, with marks; `orjson.JSONDecodeError` where it is none."""
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        found = lenient(content)
        if not found.is_json:
            raise
        return found.parsed


def marked(content: bytes, is_odd: Callable[[bytes], bool]) -> bytes:
    """Return JSON with marks in the place of odd numbers, and of all else that orjson refuses.

    What is wrong for another reason stays as it is.
    """

    def instead(token: re.Match[bytes]) -> bytes:
        text = token[0]
        if token["plain"] is not None:
            return text
        if text.startswith(b'"'):
            return _ESCAPE.sub(_without_halves, text) if b"\\u" in text else text
        if text.endswith((b"NaN", b"Infinity")):
            return orjson.dumps([_NO_JSON])  # a list can be no name, and neither can a number
        return orjson.dumps([_ODD]) if _NUMBER.fullmatch(text) and is_odd(text) else text

    return _TOKEN.sub(instead, content)


def _without_halves(escape: re.Match[bytes]) -> bytes:
    return _HALF.encode() if escape["half"] else escape[0]


def trouble(value: object) -> Reason | None:
    """Return why a value with marks in it is refused; None where it has none."""
    if holds_odd_number(value):
        return Reason.NOT_FINITE
    halves = (isinstance(part, str) and _HALF in part for part in parts_of(value))
    return Reason.WRONG_TYPE if any(halves) else None


def holds_odd_number(value: object) -> bool:
    """Return whether a mark of an odd number is anywhere in a value."""
    return any(part in (_ODD, _NO_JSON) for part in parts_of(value) if isinstance(part, str))


def parts_of(value: object) -> Iterator[object]:
    """Yield a value and all that is inside of it, names of fields too, however deep."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, dict):
            waiting += part.keys()
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def why_no_json(content: bytes) -> Reason:
    """Return why content is refused that is no JSON."""
    if content.startswith(_BYTE_ORDER_MARKS):
        return Reason.BYTE_ORDER_MARK
    return Reason.NOT_JSON


_AS_WRITTEN = {str, int, bool, type(None)}
"""orjson reads an integer as what it is; one of more than 64 bits becomes a double."""
_SUSPICIOUS = re.compile(rb"[:,\[\s]-?(?:[0-9.]{16}|[0-9]+(?:\.[0-9]+)?[eE])")
"""Numbers that are long or have an exponent; other text that looks like one is parsed in vain."""
_LONGEST_INTEGER = 20


def rounded(
    content: bytes,
    record: Record,
    fields: Sequence[str],
    opened: Callable[[Record], Record] = lambda record: record,
) -> bool:
    """Return whether any of these fields holds such a number, or is nested too deeply to tell.

    `record` is what orjson read of the JSON object, flattened where a name is a path;
    `opened` takes its envelope off.
    """
    if _AS_WRITTEN.issuperset([type(record.get(name)) for name in fields]):
        return False
    if not _SUSPICIOUS.search(content):
        return False
    try:
        exact = orjson.loads(marked(content, _is_rounded))
    except orjson.JSONDecodeError:  # a mark is one level deeper than a number
        return True
    return any(map(holds_odd_number, flattened(opened(exact), fields).values()))


def _is_rounded(digits: bytes) -> bool:
    """Return whether no 64-bit integer or double equals a number."""
    if digits.removeprefix(b"-").isdigit():
        return len(digits) > _LONGEST_INTEGER or int(digits) not in INTEGERS
    number, written = float(digits), digits.decode()
    try:
        return not isfinite(number) or Decimal(written) != Decimal(repr(number))
    except InvalidOperation:  # an exponent that not even `Decimal` holds
        return True


def holds_no_number(value: object) -> bool:
    """Return whether a value that is not JSON holds a double that JSON cannot write."""
    return any(isinstance(part, float) and not isfinite(part) for part in parts_of(value))
