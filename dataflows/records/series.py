"""Write series of numbers: one number of each record in, an estimate with its error bar out."""

from math import isnan

from fugu.dataflows.records.numbers import Numbers, decimals_of
from fugu.operators.mechanism import Releases

SAID = ("published", "standard_error", "spent_rho", "remaining_rho", "budget_exhausted")
"""The annotations of releases that are written."""
MORE_DECIMALS = 4
"""More than those of a unit: the least noise there is has a tenth of a unit."""
_STATUS = {True: b"measured", False: b"predicted"}
_WORDS = {True: b"true", False: b"false"}


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

    def __init__(self, field: str, *, units_per_one: int, whole: bool) -> None:
        super().__init__(field, units_per_one=units_per_one)
        decimals = decimals_of(units_per_one) + (0 if whole else MORE_DECIMALS)
        self._form = (
            b'{"value":%%.%df,"standard_error":%%b,"status":"%%b","predicted":%%b,'
            b'"spent_rho":%%.6g,"remaining_rho":%%.6g,"budget_exhausted":%%b}' % decimals
        )

    def write(self, releases: Releases) -> list[bytes]:
        """Write one JSON object per release."""
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


def _error(error: float) -> bytes:
    return b"null" if isnan(error) else b"%.6g" % error
