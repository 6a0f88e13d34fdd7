"""Bring what was read of a record into the form that fields are read from.

With `source.coerce: numbers`, numbers are read however producers write them.

They may be text, such as decimals of Connect, and whole numbers may be written as floats.

>>> coerced({"x": "71.50", "rooms": [1.0, "2"], "zone": "7"}, ["x", "rooms"])
{'x': 71.5, 'rooms': [1, 2], 'zone': '7'}
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

import orjson

from fugu.dataflows.base.batches import Header, Reason
from fugu.dataflows.base.field_paths import flattened, is_plain
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.contributions import Contributions, SetContributions
from fugu.dataflows.records.envelopes import Envelope
from fugu.dataflows.records.json_fields import Record, Refused
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


@dataclass(frozen=True)
class RecordShape:
    """Open an `envelope`, follow `paths`, and read `numbers` that are written as text.

    Without paths a record stays what JSON holds.
    """

    envelope: Envelope | None
    paths: tuple[str, ...]
    numbers: tuple[str, ...]

    @classmethod
    def of(
        cls, envelope: Envelope | None, names: Iterable[str], numbers: tuple[str, ...]
    ) -> "RecordShape":
        """Return the simplest form in which these fields are found."""
        paths = tuple(dict.fromkeys(names))
        as_they_are = envelope is None and not numbers and all(map(is_plain, paths))
        return cls(envelope, () if as_they_are else paths, numbers)

    @property
    def changes_nothing(self) -> bool:
        """Return whether an object of JSON is in this form already."""
        return not (self.paths or self.numbers) and self.envelope is None

    def opened(self, parsed: object, headers: Sequence[Header]) -> Record:
        """Return the object in which paths begin; `Refused` if there is none."""
        if self.envelope is not None:
            return self.envelope.opened(parsed, headers)
        if not isinstance(parsed, dict):
            raise Refused(Reason.WRONG_TYPE)
        return parsed

    def shaped(self, parsed: object, headers: Sequence[Header]) -> Record:
        """Return the fields that are read, by their names."""
        record = self._named(self.opened(parsed, headers))
        for name in self._unavailable(record):
            raise Refused(Reason.UNAVAILABLE_VALUE, name)
        return record

    def shaped_anyhow(self, parsed: object, headers: Sequence[Header]) -> Record:
        """Return the same of a record that has nothing to release."""
        if self.envelope is None:
            return self.shaped(parsed, headers)
        record = self._named(self.envelope.around(parsed, headers))
        for name in self._unavailable(record):
            del record[name]
        return record

    def _unavailable(self, record: Record) -> list[str]:
        """Return the fields whose values were not sent."""
        if self.envelope is None:
            return []
        there = (name for name in self.paths if name in record)
        return [name for name in there if self.envelope.is_unavailable(record[name])]

    def _named(self, record: Record) -> Record:
        if self.paths:
            record = flattened(record, self.paths)
        return coerced(record, self.numbers) if self.numbers else record
