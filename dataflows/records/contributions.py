"""What a record contributes to its group: one, or a number that is clamped to a declared range."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import orjson

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.json_fields import Record, Refused, required
from fugu.operators.mechanism import Floats, Integers

_DIGITS = 6
"""Of a number that says how wrong another one is."""
_IN_UNITS = {"standard_error", "sensitivity"}


class Reader(Protocol):
    """Reads one field of a record as an integer."""

    field: str

    def read(self, record: Record) -> int: ...

    def read_column(self, records: Sequence[Record]) -> list[int]: ...


class Contributions:
    """Reads group and amount; without `groups` there is one group, and without `amounts` everybody
    counts one.

    Amounts are in units, `lower` to `upper`, and what is outside is read as the nearer end.

    >>> from fugu.dataflows.records.numbers import Numbers
    >>> kilowatts = Contributions(None, Numbers("kw", units_per_one=10), lower=0, upper=50)
    >>> kilowatts.read({"kw": 3.14}), kilowatts.read({"kw": 7})
    ((0, 31), (0, 50))
    """

    dtype = np.dtype(np.int64)

    def __init__(
        self, groups: Reader | None, amounts: Reader | None, *, lower: int = 0, upper: int = 1
    ) -> None:
        self._groups = groups
        self._amounts = amounts
        self._lower, self._upper = lower, upper
        fields = [reader.field for reader in (amounts, groups) if reader is not None]
        self.field = fields[0] if fields else ""

    def read(self, record: Record) -> tuple[int, int]:
        """Index of the group, and units."""
        group = 0 if self._groups is None else self._groups.read(record)
        if self._amounts is None:
            return group, 1
        return group, self._bounded(self._amounts.read(record))

    def read_column(self, records: Sequence[Record]) -> list[tuple[int, int]]:
        """The same for many records."""
        nothing = [0] * len(records)
        groups = nothing if self._groups is None else self._groups.read_column(records)
        if self._amounts is None:
            return [(group, 1) for group in groups]
        amounts = map(self._bounded, self._amounts.read_column(records))
        return list(zip(groups, amounts, strict=True))

    def _bounded(self, amount: int) -> int:
        return min(max(amount, self._lower), self._upper)


class YesOrNo:
    """Reads true as one and false as nothing.

    >>> YesOrNo("at_home").read({"at_home": True})
    1
    """

    def __init__(self, field: str) -> None:
        self.field = field

    def read(self, record: Record) -> int:
        """1 or 0."""
        value = required(record, self.field)
        if not isinstance(value, bool):
            raise Refused(Reason.WRONG_TYPE, self.field)
        return int(value)

    def read_column(self, records: Sequence[Record]) -> list[int]:
        """The same for many records."""
        return list(map(self.read, records))


class SetContributions:
    """Reads a list of groups, to each of which a user contributes one: a number whose binary
    digits are the groups.

    >>> from fugu.dataflows.records.alphabet import Alphabet
    >>> rooms = SetContributions(Alphabet("rooms", ["bath", "bed", "hall"]))
    >>> rooms.read({"rooms": ["hall", "bath"]}), rooms.read({"rooms": []})
    ((0, 5), (0, 0))
    """

    dtype = np.dtype(np.int64)

    def __init__(self, groups: Alphabet) -> None:
        self.field = groups.field
        self._groups = groups

    def read(self, record: Record) -> tuple[int, int]:
        """Return no amount, and the set."""
        named = required(record, self.field)
        if not isinstance(named, list):
            raise Refused(Reason.WRONG_TYPE, self.field)
        digits = 0
        for name in named:
            digits |= 1 << self._groups.index_of(name)
        return 0, digits


class Figures:
    """Writes what is released for each group of a tick.

    Notes may be one for all groups, or a list with one for each. Those named in `words` are written
    under another name, as words: which one, says their number.

    >>> figures = Figures(["north", "south"], units_per_one=10)
    >>> figures.keys, figures.write(0, np.array([-3, 125]), {"standard_error": 30.0})[1]
    ([b'north', b'south'], b'{"start":0,"group":"south","value":12.5,"standard_error":3.0}')
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
        self.keys = [b"" if name is None else str(name).encode() for name in names]
        self._groups = [
            b"," if name is None else b',"group":' + orjson.dumps(name) + b"," for name in names
        ]
        self._units_per_one = units_per_one
        self._words = words or {}

    def write(
        self, start: int, values: Integers | Floats | None, notes: Mapping[str, object]
    ) -> list[bytes]:
        """Write one JSON object per group; `start` is that of the tick, in milliseconds since 1970.
        Without `values` nothing is published, which is written as null."""
        units = self._units_per_one
        if values is None:
            columns = {"value": [b"null"] * len(self.keys)}
        else:
            ones = values if units == 1 else values / units
            digits = ones if ones.dtype == np.int64 else np.round(ones, _DIGITS)
            columns = {"value": _written(digits.tolist())}
        common: dict[str, object] = {}
        for name, note in notes.items():
            public, words = self._words.get(name, (name, ()))
            if isinstance(note, list):
                columns[public] = _written([self._read(name, one, words) for one in note])
            else:
                common[public] = self._read(name, note, words)
        begin = b'{"start":%d' % start
        end = b"," + orjson.dumps(common)[1:] if common else b"}"
        parts = [
            [b'%s"%s":%s' % (b"," * (place > 0), name.encode(), number) for number in numbers]
            for place, (name, numbers) in enumerate(columns.items())
        ]
        return [
            b"".join([begin, group, *own, end])
            for group, *own in zip(self._groups, *parts, strict=True)
        ]

    def _read(self, name: str, note: object, words: Sequence[str]) -> object:
        """Return a figure in the unit that people count in, or as a word."""
        if words and isinstance(note, int):
            return words[note]
        if name in _IN_UNITS and isinstance(note, int | float):
            return round(note / self._units_per_one, _DIGITS)
        return note


def _written(entries: list[object]) -> list[bytes]:
    """Write figures as JSON, one by one; none of them holds a comma."""
    return orjson.dumps(entries)[1:-1].split(b",")
