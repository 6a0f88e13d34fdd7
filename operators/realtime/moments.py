"""Mean, variance and lag-1 autocorrelation of a growing series, in a few numbers per series."""

from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Floats, Integers


@dataclass(frozen=True, eq=False)
class Moments:
    """Keep mean, variance and lag-1 autocorrelation of growing series, `(rows, series)`.

    All series of a row have as many values: `count (rows, 1)`. With d the values less the first
    one, S their sum, Q that of their squares, P that of products of neighbours, and m = S / n:

        variance        (Q - S^2 / n) / (n - 1)
        correlation     (P - m (2 S - d_n) + (n - 1) m^2) / (Q - S^2 / n)

    which is the sum of products of neighbours' deviations over the sum of squared deviations.
    Values far from zero lose nothing, because only their distances from the first one are squared.
    Fewer than two values, and values that are all equal, have variance and correlation 0. A gap
    between two values is not seen: they count as neighbours.

    >>> moments = Moments.none(rows=1, series=1)
    >>> for value in (1e9, 1e9 + 2, 1e9 + 3, 1e9 + 1):
    ...     moments = moments.pushed(np.array([[value]]))
    >>> [float(found[0, 0]) for found in (moments.mean, moments.variance, moments.correlation)]
    [1000000001.5, 1.6666666666666667, -0.15]

    Source: real-time release specification, section 3.
    """

    count: Integers
    shift: Floats
    total: Floats
    squares: Floats
    products: Floats
    last: Floats

    @classmethod
    def none(cls, rows: int, series: int) -> "Moments":
        """Return the moments of series without values."""
        columns = (np.zeros((rows, series)) for _ in range(5))
        return cls(np.zeros((rows, 1), dtype=np.int64), *columns)

    def pushed(self, values: Floats) -> "Moments":
        """Return the moments with one more value for each series."""
        shift = np.where(self.count == 0, values, self.shift)
        apart = values - shift
        return Moments(
            self.count + 1,
            shift,
            self.total + apart,
            self.squares + apart * apart,
            self.products + apart * self.last,
            apart,
        )

    @property
    def mean(self) -> Floats:
        """Return the mean; 0 of no values."""
        return self.shift + self._mean

    @property
    def variance(self) -> Floats:
        """Return the variance, with n - 1 in the denominator."""
        return self._spread / np.maximum(self.count - 1, 1)

    @property
    def correlation(self) -> Floats:
        """Return the correlation of neighbours."""
        mean, spread = self._mean, self._spread
        cross = self.products - mean * (2.0 * self.total - self.last)
        cross = cross + (self.count - 1) * (mean * mean)
        some = spread > 0.0
        return np.where(some, cross, 0.0) / np.where(some, spread, 1.0)

    @property
    def _mean(self) -> Floats:
        return self.total / np.maximum(self.count, 1)

    @property
    def _spread(self) -> Floats:
        """Return the sum of squared deviations."""
        return np.maximum(self.squares - self.total * self.total / np.maximum(self.count, 1), 0.0)
