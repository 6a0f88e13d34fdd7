"""Read numbers in whole units of a declared fixed-point unit; write them with its decimals."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import floor, isfinite

import numpy as np
import orjson

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.records.json_fields import Record, Refused, ends, required
from fugu.operators.mechanism import Releases

LARGEST = 2**61
"""Larger numbers are read as this one: the mechanism clamps to the declared range anyway."""
_HALF = Fraction(1, 2)
_LARGE, _CLEAR = 2**42, 0.499
"""Doubles below `_LARGE` cannot be wrong about which unit is nearest, if it is nearer than this."""


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

    dtype = np.dtype(np.int64)

    def __init__(self, field: str, *, units_per_one: int) -> None:
        self.field = field
        self.units_per_one = units_per_one
        name = orjson.dumps(field).replace(b"%", b"%%")
        self._form = b"{%b:%%.%df%%b" % (name, decimals_of(units_per_one))

    def read(self, record: Record) -> int:
        """Return the number in units, rounded to the nearest."""
        value = required(record, self.field)
        if type(value) is int:
            return min(max(value * self.units_per_one, -LARGEST), LARGEST)
        if type(value) is not float:
            raise Refused(Reason.WRONG_TYPE, self.field)
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

    def write(self, releases: Releases) -> list[bytes]:
        """Write one JSON object per release."""
        values = releases.values.tolist()
        return [self._form % one for one in zip(values, ends(releases), strict=True)]
