"""Numbers that JSON can write and a reader would round; payloads that hold one are refused.

>>> rounded(b'{"meter": 0.1, "serial": 12345678901234567890123}', ["meter"])
False
>>> rounded(b'{"meter": [0.10000000000000000001]}', ["meter"])
True
"""

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from math import isfinite

_SUSPICIOUS = re.compile(rb"[:,\[\s]-?(?:[0-9.]{16}|[0-9]+(?:\.[0-9]+)?[eE])")
"""Numbers that are long or have an exponent; what else looks like one is looked at in vain."""
_LONGEST_INTEGER = 20
_INTEGERS = range(-(2**63), 2**64)


class _Rounded:
    """Stands for a number that no 64-bit integer or double equals."""


def rounded(content: bytes, fields: Sequence[str]) -> bool:
    """Whether any of these fields of a JSON object holds such a number."""
    if not _SUSPICIOUS.search(content):
        return False
    record = json.loads(content, parse_int=_integer, parse_float=_double)
    return any(_holds_rounded(record.get(field)) for field in fields)


def _integer(digits: str) -> object:
    short = len(digits) <= _LONGEST_INTEGER
    return int(digits) if short and int(digits) in _INTEGERS else _Rounded()


def _double(digits: str) -> object:
    number = float(digits)
    exact = isfinite(number) and Decimal(digits) == Decimal(repr(number))
    return number if exact else _Rounded()


def _holds_rounded(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_rounded, value.values()))
    if isinstance(value, list):
        return any(map(_holds_rounded, value))
    return isinstance(value, _Rounded)
