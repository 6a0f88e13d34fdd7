"""The leakage function by its definition, and by the pruning of Cao et al."""

from itertools import permutations
from math import expm1, inf, log1p

import numpy as np

from fugu.operators.mechanism import Floats


def over_all_subsets(rows: Floats, alpha: float) -> float:
    """The maximum over ordered pairs of rows and all sets of columns."""
    sets = np.array(np.meshgrid(*[[0.0, 1.0]] * rows.shape[1])).reshape(rows.shape[1], -1)
    sums = rows @ sets
    logarithms = np.log1p(sums * expm1(alpha))
    pairs = permutations(range(len(rows)), 2)
    return max((float((logarithms[q] - logarithms[d]).max()) for q, d in pairs), default=0.0)


def by_pruning(rows: Floats, alpha: float) -> float:
    """Drop, for each pair, columns whose ratio is no better than the present fraction."""
    return max((_pruned(q, d, alpha) for q, d in permutations(rows, 2)), default=0.0)


def _pruned(q: Floats, d: Floats, alpha: float) -> float:
    chosen = q > d
    growth = expm1(alpha)
    while chosen.any():
        fraction = (q[chosen].sum() * growth + 1.0) / (d[chosen].sum() * growth + 1.0)
        ratios = np.divide(q, d, out=np.full(len(q), inf), where=d > 0.0)
        kept = chosen & (ratios > fraction)
        if (kept == chosen).all():
            break
        chosen = kept
    return log1p(q[chosen].sum() * growth) - log1p(d[chosen].sum() * growth)
