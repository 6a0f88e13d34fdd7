"""Write series of numbers: one number of each record in, an estimate with its error bar out."""

from collections.abc import Callable, Sequence
from math import isnan
from typing import ClassVar

import numpy as np

from fugu.dataflows.records.json_columns import joined
from fugu.dataflows.records.numbers import Numbers, decimal_column, decimals_of
from fugu.dataflows.records.values import ReleasedAs
from fugu.operators.columns import ByteColumn
from fugu.operators.mechanism import Floats, Releases

SAID = ("published", "standard_error", "spent_rho", "remaining_rho", "budget_exhausted")
"""The annotations of releases that are written."""
MORE_DECIMALS = 4
"""More than those of a unit: the least noise there is has a tenth of a unit."""
_STATUS = {True: b"measured", False: b"predicted"}
_WORDS = {True: b"true", False: b"false"}
_BEFORE_ERROR = ByteColumn.of([b',"standard_error":'])
_STATUSES = ByteColumn.of(
    [
        b',"status":"%b","predicted":%b,"spent_rho":' % (_STATUS[measured], _WORDS[not measured])
        for measured in (False, True)
    ]
)
_ENDS = ByteColumn.of([b',"budget_exhausted":%b}' % _WORDS[word] for word in (False, True)])


class Series(Numbers):
    """Read what `Numbers` reads; write estimates with more decimals, unless they are whole.

    >>> import numpy as np
    >>> rates = Series("bpm", units_per_one=1, whole=False)
    >>> columns = dict(zip(SAID, np.array([[True], [2.5], [0.1], [1 / 3], [False]])))
    >>> [release] = rates.write(Releases(np.array([71.23456]), columns))
    >>> print(release.decode().replace(',"sp', ',\\n "sp'))
    {"value":71.2346,"standard_error":2.5,"status":"measured","predicted":false,
     "spent_rho":0.1,"remaining_rho":0.333333,"budget_exhausted":false}
    """

    released_as: ClassVar[ReleasedAs] = "series"

    def __init__(self, field: str, *, units_per_one: int, whole: bool) -> None:
        super().__init__(field, units_per_one=units_per_one)
        self._decimals = decimals_of(units_per_one) + (0 if whole else MORE_DECIMALS)
        self._form = (
            b'{"value":%%.%df,"standard_error":%%b,"status":"%%b","predicted":%%b,'
            b'"spent_rho":%%.6g,"remaining_rho":%%.6g,"budget_exhausted":%%b}' % self._decimals
        )

    def write(self, releases: Releases) -> Sequence[bytes]:
        """Write one JSON object per release."""
        if self._worth_compiling(releases):
            return self._columns(releases)
        columns = (releases.annotations[name].tolist() for name in SAID)
        return [
            self._form
            % (
                value,
                _error(error),
                _STATUS[measured],
                _WORDS[not measured],
                spent,
                remaining,
                _WORDS[exhausted],
            )
            for value, measured, error, spent, remaining, exhausted in zip(
                releases.values.tolist(), *columns, strict=True
            )
        ]

    def _columns(self, releases: Releases) -> Sequence[bytes]:
        measured, error, spent, remaining, exhausted = (releases.annotations[name] for name in SAID)
        values = releases.values.astype(np.float64, copy=False)
        first = np.zeros(len(values), dtype=np.int64)
        return joined(
            len(values),
            decimal_column(b'{"value":', values, self._decimals, _BEFORE_ERROR, first),
            _significant(error, _error),
            _STATUSES.taken(measured.astype(np.int64)),
            _significant(spent, _budget),
            b',"remaining_rho":',
            _significant(remaining, _budget),
            _ENDS.taken(exhausted.astype(np.int64)),
        )


def _significant(values: Floats, write: Callable[[float], bytes]) -> ByteColumn:
    """Return what `write` gives for each value; almost all of it by compiled code."""
    from fugu.dataflows.records.compiled_writing import UNWRITTEN, write_significant

    column = write_significant(values)
    rest = np.flatnonzero(column.lengths == UNWRITTEN)
    if len(rest) == 0:
        return column
    bits, places = np.unique(values[rest].view(np.int64), return_inverse=True)
    written = ByteColumn.of([write(value) for value in bits.view(np.float64).tolist()])
    return column.replaced(rest, written.taken(places))


def _budget(rho: float) -> bytes:
    return b"%.6g" % rho


def _error(error: float) -> bytes:
    return b"null" if isnan(error) else b"%.6g" % error
