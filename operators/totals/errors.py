"""Compute the errors of running totals: variances, and how the noise of two of them correlates."""

from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Floats
from fugu.operators.totals.buffers import Buffers, decoding_column


@dataclass(frozen=True)
class TotalErrors:
    """Know the errors of totals of so many `ticks`, in units; `noise` is that of a measurement.

    Totals are counted from 1, and 0 is where there is none yet.

    >>> errors = TotalErrors(Buffers((2**31,), (0,)), ticks=100, noise=2.0)
    >>> errors.variances.round(3).tolist()[:3], round(errors.of_difference(2, 3), 3)
    ([0.0, 4.0, 5.0], 5.25)

    Source: continual release specification, section 3 (error bars).
    """

    buffers: Buffers
    ticks: int
    noise: float

    @property
    def variances(self) -> Floats:
        """Return the variance of the total of 0, 1, 2, ... ticks."""
        squares = np.concatenate([[0.0], decoding_column(self.buffers, self.ticks) ** 2])
        return np.asarray(self.noise**2 * np.cumsum(squares))

    def of_difference(self, first: int, last: int) -> float:
        """Return the variance of the total of `last` ticks less that of `first`, not more, ticks.

        It is that of the sum of the ticks after `first`.
        """
        column = decoding_column(self.buffers, self.ticks)
        apart = last - first
        both = column[apart : apart + first] - column[:first]
        return float(self.noise**2 * (np.sum(both**2) + np.sum(column[:apart] ** 2)))
