"""Find numbers that JSON can write and a reader would round; payloads with one are refused.

>>> import orjson
>>> def is_rounded(content: bytes) -> bool:
...     return rounded(content, orjson.loads(content), ["meter"])
>>> is_rounded(b'{"meter": 0.1, "serial": 12345678901234567890123}')
False
>>> is_rounded(b'{"meter": [0.10000000000000000001]}')
True
"""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from math import isfinite

import orjson

from fugu.dataflows.base.field_paths import flattened
from fugu.dataflows.base.section import INTEGERS
from fugu.dataflows.records.json_fields import Record
from fugu.dataflows.records.lenient_json import holds_odd_number, marked, parts_of

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
