"""Read numbers in whole units of a declared fixed-point unit; write them with its decimals."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import floor, isfinite
from typing import ClassVar

import numpy as np
import orjson

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.field_paths import released_name
from fugu.dataflows.records.json_fields import (
    ENDS,
    WORTH_JSON_WRITING,
    Record,
    Refused,
    ends,
    kinds_of,
    of_wrong_type,
    required,
)
from fugu.dataflows.records.values import ReleasedAs
from fugu.operators import compiled
from fugu.operators.columns import ByteColumn
from fugu.operators.mechanism import Floats, Integers, Releases

LARGEST = 2**61
"""Larger numbers are read as this one: the mechanism clamps to the declared range anyway."""
_HALF = Fraction(1, 2)
_LARGE, _CLEAR = 2**42, 0.499
"""Doubles below `_LARGE` cannot be wrong about which unit is nearest, if it is nearer than this."""

_ENDS = ByteColumn.of(ENDS)
_MOST_DECIMALS = 12
"""The most decimals that are written in columns; a number with more is written by a loop."""


def decimals_of(units_per_one: int) -> int:
    """Return how many decimals a whole number of units has.

    >>> decimals_of(1), decimals_of(8), decimals_of(100)
    (0, 3, 2)
    """
    exponent = (1 / Decimal(units_per_one)).as_tuple().exponent
    return max(0, -int(exponent))


class Numbers:
    """Read one field as a number of units, and write releases of numbers.

    The nearest unit is that of the number as it is written, with the fewest digits that mean the
    same double; halves go up. So numbers that are written no farther apart than some whole number
    of units are read no farther apart.

    >>> tenths = Numbers("watts", units_per_one=10)
    >>> tenths.read({"watts": 12.34}), tenths.read({"watts": -3})
    (123, -30)
    """

    released_as: ClassVar[ReleasedAs] = "number"

    dtype = np.dtype(np.int64)

    def __init__(self, field: str, *, units_per_one: int) -> None:
        self.field = field
        self.units_per_one = units_per_one
        self._start = b"{%b:" % orjson.dumps(released_name(field))
        self._decimals = decimals_of(units_per_one)
        self._form = b"%b%%.%df%%b" % (self._start.replace(b"%", b"%%"), self._decimals)

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the field."""
        return (self.field,)

    def read(self, record: Record) -> int:
        """Return the number in units, rounded to the nearest."""
        value = required(record, self.field)
        if type(value) is int:
            return min(max(value * self.units_per_one, -LARGEST), LARGEST)
        if type(value) is not float:
            raise of_wrong_type(value, self.field)
        units = value * self.units_per_one
        if not isfinite(units):
            raise Refused(Reason.NOT_FINITE, self.field)
        nearest = floor(units + 0.5)
        if abs(units - nearest) > _CLEAR or _LARGE < abs(units) < LARGEST:
            nearest = floor(Fraction(str(value)) * self.units_per_one + _HALF)
        return min(max(nearest, -LARGEST), LARGEST)

    def read_column(self, records: Sequence[Record]) -> list[int]:
        """Read many records: at once where doubles cannot be wrong, else one by one."""
        column = [record.get(self.field) for record in records]
        if set(map(type, column)) <= {int, float}:
            with np.errstate(over="ignore"):
                units = np.array(column, dtype=np.float64) * self.units_per_one
            if (abs(units) < _LARGE).all():
                nearest = np.floor(units + 0.5)
                numbers: list[int] = nearest.astype(np.int64).tolist()
                for index in np.flatnonzero(abs(units - nearest) > _CLEAR).tolist():
                    numbers[index] = self.read(records[index])
                return numbers
        return list(map(self.read, records))

    def write(self, releases: Releases) -> Sequence[bytes]:
        """Write one JSON object per release."""
        if self._worth_compiling(releases):
            numbers, kinds = releases.values.astype(np.float64, copy=False), kinds_of(releases)
            return decimal_column(self._start, numbers, self._decimals, _ENDS, kinds)
        values = releases.values.tolist()
        return [self._form % one for one in zip(values, ends(releases), strict=True)]

    def _worth_compiling(self, releases: Releases) -> bool:
        is_many = len(releases.values) >= WORTH_JSON_WRITING
        return is_many and self._decimals <= _MOST_DECIMALS and compiled.available()


def decimal_column(
    start: bytes, values: Floats, decimals: int, ends: ByteColumn, places: Integers
) -> ByteColumn:
    """Write each value with a fixed number of decimals, between a start and the end at its place;
    almost all of them by compiled code."""
    from fugu.dataflows.records.compiled_writing import UNWRITTEN, write_numbers

    column = write_numbers(start, values, decimals, ends, places)
    rest = np.flatnonzero(column.lengths == UNWRITTEN)
    if len(rest) == 0:
        return column
    form = b"%%.%df" % decimals
    some = zip(values[rest].tolist(), ends.taken(places[rest]), strict=True)
    written = [start + form % value + end for value, end in some]
    return column.replaced(rest, ByteColumn.of(written))
