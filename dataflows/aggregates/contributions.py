"""What a record contributes to its group: one, or a number that is clamped to a declared range."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import orjson

from dataflows.codec.fields import Record
from operators.mechanism import Integers

_DIGITS = 6
"""Of a number that says how wrong another one is."""


class Reader(Protocol):
    """Reads one field of a record as an integer."""

    field: str

    def read(self, record: Record) -> int: ...


class Contributions:
    """Reads group and amount; without `groups` there is one group, and without `amounts` everybody
    counts one.

    Amounts are in units, `lower` to `upper`, and what is outside is read as the nearer end.

    >>> from dataflows.codec.numbers import Numbers
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
        return group, min(max(self._amounts.read(record), self._lower), self._upper)


class Figures:
    """Writes what is released for each group of a tick.

    >>> figures = Figures(["north", "south"], units_per_one=10)
    >>> figures.keys, figures.write(0, np.array([-3, 125]), {"standard_error": 30.0})[1]
    ([b'north', b'south'], b'{"start":0,"group":"south","value":12.5,"standard_error":3.0}')
    """

    def __init__(self, groups: Sequence[str] | Sequence[int] | None, *, units_per_one: int) -> None:
        names: list[str | int | None] = [None] if groups is None else list(groups)
        self.keys = [b"" if name is None else str(name).encode() for name in names]
        self._groups = [
            b"," if name is None else b',"group":' + orjson.dumps(name) + b"," for name in names
        ]
        self._units_per_one = units_per_one

    def write(self, start: int, values: Integers, notes: dict[str, object]) -> list[bytes]:
        """One JSON object per group; `start` is that of the tick, in milliseconds since 1970."""
        units = self._units_per_one
        error = notes.get("standard_error")
        if isinstance(error, float):
            notes = notes | {"standard_error": round(error / units, _DIGITS)}
        begin, end = b'{"start":%d' % start, b"," + orjson.dumps(notes)[1:]
        numbers = orjson.dumps((values if units == 1 else values / units).tolist())[1:-1]
        return [
            begin + group + b'"value":' + number + end
            for group, number in zip(self._groups, numbers.split(b","), strict=True)
        ]
