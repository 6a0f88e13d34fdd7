"""Read what a record contributes to its group, and write the figures that are released of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import orjson

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.json_columns import Field, json_column, written_objects
from fugu.dataflows.records.json_fields import Record, Refused, required
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.records.values import ReleasedAs
from fugu.operators.columns import ByteColumn
from fugu.operators.mechanism import Floats, Integers

_DIGITS = 6
"""Decimals of a number that says how wrong another one is."""
_IN_UNITS = {"standard_error", "sensitivity"}


@dataclass(frozen=True)
class YesOrNo:
    """Read true as one and false as zero.

    >>> YesOrNo("at_home").read({"at_home": True})
    1
    """

    field: str

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the field."""
        return (self.field,)

    def read(self, record: Record) -> int:
        """Return 1 or 0."""
        value = required(record, self.field)
        if not isinstance(value, bool):
            raise Refused(Reason.WRONG_TYPE, self.field)
        return int(value)

    def read_column(self, records: Sequence[Record]) -> list[int]:
        """Read many records."""
        return list(map(self.read, records))


Reader = Alphabet | Numbers | YesOrNo


class Contributions:
    """Read group and amount; without `groups` there is one, without `amounts` everybody counts one.

    Amounts are in units from `lower` to `upper`; one that is outside is read as the nearer end.

    >>> kilowatts = Contributions(None, Numbers("kw", units_per_one=10), lower=0, upper=50)
    >>> kilowatts.read({"kw": 3.14}), kilowatts.read({"kw": 7})
    ((0, 31), (0, 50))
    """

    released_as: ClassVar[ReleasedAs] = "figures"

    dtype = np.dtype(np.int64)

    def __init__(
        self, groups: Reader | None, amounts: Reader | None, *, lower: int = 0, upper: int = 1
    ) -> None:
        self.groups = groups
        self.amounts = amounts
        self.lower, self.upper = lower, upper
        self.fields = tuple(one.field for one in (amounts, groups) if one is not None)
        self.field = self.fields[0] if self.fields else ""

    def read(self, record: Record) -> tuple[int, int]:
        """Return the index of the group, and units."""
        group = 0 if self.groups is None else self.groups.read(record)
        if self.amounts is None:
            return group, 1
        return group, self._bounded(self.amounts.read(record))

    def read_column(self, records: Sequence[Record]) -> list[tuple[int, int]]:
        """Read many records at once."""
        nothing = [0] * len(records)
        groups = nothing if self.groups is None else self.groups.read_column(records)
        if self.amounts is None:
            return [(group, 1) for group in groups]
        amounts = map(self._bounded, self.amounts.read_column(records))
        return list(zip(groups, amounts, strict=True))

    def _bounded(self, amount: int) -> int:
        return min(max(amount, self.lower), self.upper)


class SetContributions:
    """Read a list of groups, to each of which a user contributes one, as bits of a number.

    >>> rooms = SetContributions(Alphabet("rooms", ["bath", "bed", "hall"]))
    >>> rooms.read({"rooms": ["hall", "bath"]}), rooms.read({"rooms": []})
    ((0, 5), (0, 0))
    """

    released_as: ClassVar[ReleasedAs] = "figures"

    dtype = np.dtype(np.int64)

    def __init__(self, groups: Alphabet) -> None:
        self.field = groups.field
        self.fields = groups.fields
        self.groups = groups

    def read(self, record: Record) -> tuple[int, int]:
        """Return group 0, and the set."""
        named = required(record, self.field)
        if not isinstance(named, list):
            raise Refused(Reason.WRONG_TYPE, self.field)
        digits = 0
        for name in named:
            digits |= 1 << self.groups.index_of(name)
        return 0, digits

    def read_column(self, records: Sequence[Record]) -> list[tuple[int, int]]:
        """Read many records."""
        return list(map(self.read, records))


class Figures:
    """Write what is released for each group of a tick.

    A note holds for all groups, or is a list with one entry for each. Notes named in `words` are
    numbers, written under another name as the words at these places.

    >>> figures = Figures(["north", "south"], units_per_one=10)
    >>> figures.keys[0], figures.write(0, np.array([-3, 125]), {"standard_error": 30.0})[1]
    (b'north', b'{"start":0,"group":"south","value":12.5,"standard_error":3.0}')
    >>> Figures(None, units_per_one=1).write(0, None, {"published": False})
    [b'{"start":0,"value":null,"published":false}']
    """

    def __init__(
        self,
        groups: Sequence[str] | Sequence[int] | None,
        *,
        units_per_one: int,
        words: Mapping[str, tuple[str, Sequence[str]]] | None = None,
    ) -> None:
        names: list[str | int | None] = [None] if groups is None else list(groups)
        self.keys = ByteColumn.of([b"" if name is None else str(name).encode() for name in names])
        self._groups: dict[str, Field] = {} if groups is None else {"group": json_column(names)}
        self._units_per_one = units_per_one
        self._words = words or {}

    def write(
        self, start: int, values: Integers | Floats | None, notes: Mapping[str, object]
    ) -> Sequence[bytes]:
        """Write one JSON object per group, with null where there are no `values`.

        `start` is that of the tick, in milliseconds since 1970.
        """
        columns: dict[str, list[object]] = {"value": [None] * len(self.keys)}
        common: dict[str, object] = {}
        if values is not None:
            ones = values if self._units_per_one == 1 else values / self._units_per_one
            digits = ones if ones.dtype == np.int64 else np.round(ones, _DIGITS)
            columns["value"] = digits.tolist()
        for name, note in notes.items():
            public, words = self._words.get(name, (name, ()))
            if isinstance(note, list):
                columns[public] = [self._read(name, one, words) for one in note]
            else:
                common[public] = self._read(name, note, words)
        end = b"," + orjson.dumps(common)[1:] if common else b"}"
        fields: dict[str, Field] = {"start": orjson.dumps(start), **self._groups}
        fields.update({name: json_column(column) for name, column in columns.items()})
        return written_objects(len(self.keys), fields, end)

    def _read(self, name: str, note: object, words: Sequence[str]) -> object:
        """Return a figure in the unit that people count in, or as a word."""
        if words and isinstance(note, int):
            return words[note]
        if name in _IN_UNITS and isinstance(note, int | float):
            return round(note / self._units_per_one, _DIGITS)
        return note
