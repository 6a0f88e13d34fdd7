"""Find numbers that JSON can write and a reader would round; payloads with one are refused.

>>> import orjson
>>> def is_rounded(content: bytes) -> bool:
...     return rounded(content, orjson.loads(content), ["meter"])
>>> is_rounded(b'{"meter": 0.1, "serial": 12345678901234567890123}')
False
>>> is_rounded(b'{"meter": [0.10000000000000000001]}')
True
"""

import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from math import isfinite

from fugu.dataflows.base.field_paths import flattened
from fugu.dataflows.base.section import INTEGERS
from fugu.dataflows.records.json_fields import Record

_AS_WRITTEN = {str, int, bool, type(None)}
"""orjson reads an integer as what it is; one of more than 64 bits becomes a double."""
_SUSPICIOUS = re.compile(rb"[:,\[\s]-?(?:[0-9.]{16}|[0-9]+(?:\.[0-9]+)?[eE])")
"""Numbers that are long or have an exponent; other text that looks like one is parsed in vain."""
_LONGEST_INTEGER = 20


class _Rounded:
    """Stand for a number that no 64-bit integer or double equals."""


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
        exact = json.loads(content, parse_int=_integer, parse_float=_double)
        return any(map(_holds_rounded, flattened(opened(exact), fields).values()))
    except RecursionError:
        return True


def _integer(digits: str) -> object:
    short = len(digits) <= _LONGEST_INTEGER
    return int(digits) if short and int(digits) in INTEGERS else _Rounded()


def _double(digits: str) -> object:
    number = float(digits)
    try:
        exact = isfinite(number) and Decimal(digits) == Decimal(repr(number))
    except InvalidOperation:  # an exponent that not even `Decimal` holds
        exact = False
    return number if exact else _Rounded()


def _holds_rounded(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_rounded, value.values()))
    if isinstance(value, list):
        return any(map(_holds_rounded, value))
    return isinstance(value, _Rounded)


def holds_no_number(value: object) -> bool:
    """Return whether a value that is not JSON holds a double that JSON cannot write."""
    if isinstance(value, dict):
        return any(map(holds_no_number, value.values()))
    if isinstance(value, list):
        return any(map(holds_no_number, value))
    return isinstance(value, float) and not isfinite(value)
