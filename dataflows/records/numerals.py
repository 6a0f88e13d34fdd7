"""Read numbers however producers write them: `source.coerce: numbers`.

They may be text, such as decimals of Connect, and whole numbers may be written as floats.

>>> coerced({"x": "71.50", "rooms": [1.0, "2"], "zone": "7"}, ["x", "rooms"])
{'x': 71.5, 'rooms': [1, 2], 'zone': '7'}
"""

import re
from collections.abc import Iterable
from math import inf

import orjson

from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.contributions import Contributions, SetContributions
from fugu.dataflows.records.json_fields import Record
from fugu.dataflows.records.numbers import Numbers

_NUMERAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", re.ASCII)
_LARGEST_WHOLE = 2**53
"""A double that is larger may stand for another whole number than was written."""


def fields_of_numbers(values: object) -> tuple[str, ...]:
    """Return the fields that hold nothing but numbers."""
    match values:
        case SetContributions(groups=groups):
            return fields_of_numbers(groups)
        case Numbers(field=field):
            return (field,)
        case Alphabet(field=field, index=index) if all(type(one) is int for one in index):
            return (field,)
        case Contributions(groups=groups, amounts=amounts):
            return fields_of_numbers(groups) + fields_of_numbers(amounts)
        case _:
            return ()


def coerced(record: Record, names: Iterable[str]) -> Record:
    """Return a record with these fields as numbers, where a text is one as JSON writes it.

    Whole numbers are integers. Items of lists are read alike.
    """
    numbers = {name: _numbers(record.get(name)) for name in names if name in record}
    return record | numbers


def _numbers(value: object) -> object:
    return list(map(_number, value)) if isinstance(value, list) else _number(value)


def _number(value: object) -> object:
    if isinstance(value, str) and _NUMERAL.fullmatch(value):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:  # it is beyond all doubles
            return inf
    if isinstance(value, float) and abs(value) <= _LARGEST_WHOLE and value.is_integer():
        return int(value)
    return value
