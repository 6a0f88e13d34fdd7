"""Quantiles of Student's t distribution, for error bars over few users."""

from functools import lru_cache
from math import ceil, inf
from statistics import NormalDist

import numpy as np

from fugu.operators.mechanism import Floats

_NORMAL_FROM = 2_000.0
"""From so many degrees of freedom on, the quantile is the normal one within a thousandth."""
_CELLS = 20_000


@lru_cache(maxsize=1_000)
def student_quantile(probability: float, degrees: float) -> float:
    """Return the quantile of t at a probability above one half; infinite below 1 degree of freedom.

    With t = tan(a) times the root of the degrees, a has the density cos(a)^(degrees - 1), which is
    summed up by the midpoint rule.

    >>> [round(student_quantile(0.975, degrees), 3) for degrees in (1, 4, 30, 1e6)]
    [12.706, 2.776, 2.042, 1.96]
    """
    if not 0.5 < probability < 1.0:
        raise ValueError(f"probability: must be above one half and below 1, not {probability}")
    if degrees < 1.0:
        return inf
    if degrees >= _NORMAL_FROM:
        return NormalDist().inv_cdf(probability)
    cells = max(_CELLS, ceil(4.0 / (1.0 - probability)))
    width = np.pi / 2.0 / cells
    middles = (np.arange(cells) + 0.5) * width
    reached = np.concatenate([[0.0], np.cumsum(np.cos(middles) ** (degrees - 1.0))])
    share = (2.0 * probability - 1.0) * reached[-1]
    angle = float(np.interp(share, reached, np.arange(cells + 1) * width))
    return float(np.tan(angle) * np.sqrt(degrees))


def half_widths(standard_errors: Floats, degrees: Floats, confidence: float) -> Floats:
    """Return what bars of this confidence add to both sides; NaN stays NaN."""
    distinct, places = np.unique(degrees, return_inverse=True)
    quantiles = [student_quantile(0.5 + confidence / 2.0, one) for one in distinct.tolist()]
    factors = np.array(quantiles)[places].reshape(np.shape(degrees))
    return np.asarray(standard_errors * factors)
