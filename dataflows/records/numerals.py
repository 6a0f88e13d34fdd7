"""Read numbers that producers write as text, such as decimals of Connect: `source.coerce: numbers`.

>>> coerced({"x": "71.50", "zone": "7"}, ["x"])
{'x': 71.5, 'zone': '7'}
"""

import re
from collections.abc import Iterable
from contextlib import suppress

import orjson

from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.contributions import Contributions, SetContributions
from fugu.dataflows.records.json_fields import Record
from fugu.dataflows.records.numbers import Numbers

_NUMERAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", re.ASCII)
_LONGEST = 400


def fields_of_numbers(values: object) -> tuple[str, ...]:
    """Return the fields that hold nothing but numbers."""
    match values:
        case SetContributions():
            return ()
        case Numbers(field=field):
            return (field,)
        case Alphabet(field=field, index=index) if all(type(one) is int for one in index):
            return (field,)
        case Contributions(groups=groups, amounts=amounts):
            return fields_of_numbers(groups) + fields_of_numbers(amounts)
        case _:
            return ()


def coerced(record: Record, names: Iterable[str]) -> Record:
    """Return a record with these fields as numbers, where a text is one as JSON writes it."""
    numbers = {name: _number(record.get(name)) for name in names if name in record}
    return record | numbers


def _number(value: object) -> object:
    if isinstance(value, str) and len(value) <= _LONGEST and _NUMERAL.fullmatch(value):
        with suppress(orjson.JSONDecodeError):  # which is beyond all doubles
            return orjson.loads(value)
    return value
