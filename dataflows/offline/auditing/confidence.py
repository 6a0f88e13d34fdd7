"""Compute what counts prove: exact (Clopper-Pearson) limits of a probability, and of a leakage.

>>> float(upper_limit(np.array(0), 100, error=0.05).round(4))
0.0295
>>> float(leakage_bound(np.array(500), np.array(100), 1000, error=0.001, delta=0.0).round(3))
1.2
"""

import numpy as np
from scipy.stats import beta

from fugu.operators.mechanism import Floats, Integers


def lower_limit(hits: Integers, runs: int, error: float) -> Floats:
    """Bound the probability of what happened in `hits` of `runs` from below, but for `error`."""
    some = np.maximum(hits, 1)
    return np.where(hits == 0, 0.0, beta.ppf(error, some, runs - some + 1))


def upper_limit(hits: Integers, runs: int, error: float) -> Floats:
    """Bound the probability of what happened in `hits` of `runs` from above, but for `error`."""
    some = np.minimum(hits, runs - 1)
    return np.where(hits == runs, 1.0, beta.isf(error, some + 1, runs - some))


def leakage_bound(
    hits: Integers, other_hits: Integers, runs: int, *, error: float, delta: float
) -> Floats:
    """Return the nats that an event proves: ln((p - delta) / q), p from below, q from above, or 0.

    `hits` and `other_hits` count the event in `runs` runs of either stream. No mechanism whose true
    leakage is smaller gives counts with a larger bound, but for `error`.
    """
    above = lower_limit(hits, runs, error / 2.0) - delta
    ratio = np.maximum(above, 0.0) / upper_limit(other_hits, runs, error / 2.0)
    return np.asarray(np.log(np.maximum(ratio, 1.0)))
