"""Compute what figures err by that were measured some ticks ago, and their sums.

A repeated figure errs by the noise of its measurement and by how far the truth has moved since. How
far it moves in a tick (`random_walks`) is a variance, its drift. The truth of a day that rises and
falls steeply moves farther than a random walk.

>>> sum_of(np.ones(4), np.array([0, 1, 2, 3]))
(16.0, 14.0, 1.0)
"""

from math import log, sqrt
from statistics import NormalDist

import numpy as np

from fugu.operators.mechanism import Floats, Integers


def sum_of(errors: Floats, ages: Integers) -> tuple[float, float, float]:
    """Return of the sum of figures of ticks in a row the variance of its noise, how many times the
    drift of a tick its other variance is, and the number of equal measurements that it is like.

    What one measurement repeats has one noise: it counts as often as it is repeated.
    """
    begins = np.flatnonzero((ages == 0) | (np.arange(len(ages)) == 0))
    ends = np.append(begins[1:], len(ages))
    noise = moved = fourth = 0.0
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        length, first = end - begin, float(ages[begin])
        own = (length * float(errors[begin])) ** 2
        noise, fourth = noise + own, fourth + own**2
        later = np.arange(length - 1, 0, -1, dtype=np.float64)
        moved += length**2 * first + float((later**2).sum())
    alike = noise**2 / fourth if fourth > 0.0 else 1.0
    return noise, moved, alike


def laplace_quantile(confidence: float, measurements: float = 1.0) -> float:
    """Return how many standard errors around a sum of so many Laplace errors hold this share.

    Exact for one; for several by the expansion of Cornish and Fisher with their kurtosis.

    >>> [round(laplace_quantile(0.95, n), 3) for n in (1, 2, 1e9)]
    [2.118, 2.063, 1.96]
    """
    if measurements <= 1.0:
        return -log(1.0 - confidence) / sqrt(2.0)
    z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    excess = 3.0 / measurements
    return z + excess * (z**3 - 3.0 * z) / 24.0
