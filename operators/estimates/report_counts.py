"""Estimate how many users have each symbol, from one unbiased estimate of each user.

>>> estimate = estimated_counts(np.array([[2.1, -0.5], [-0.4, 2.2], [np.nan, np.nan]]))
>>> estimate.counts.round(2).tolist(), estimate.standard_errors.round(2).tolist()
([2.2, 2.2], [1.69, 1.84])
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fugu.operators.mechanism import Floats


@dataclass(frozen=True, eq=False)
class CountEstimate:
    """Hold counts of all symbols, `(n,)`, with standard errors.

    Let e_ij estimate without a bias whether user i has symbol j (`share_reader`), whatever the
    budgets of users are. The sum over users is unbiased, and so is the sum of e_ij^2 - e_ij for
    its variance, because e_ij^2 has the mean of a variance and of what is true.

    Not in the bars: a user without a report counts as 1 / n of each symbol, a guess that is wrong
    by up to 1, and there are `without_report` of them; and an estimate may be about an earlier
    record. A count may be below 0: leave it so, or sums of counts are too large.

    Source: PBA specification, section 3 (estimator at the server, mixed budgets).
    """

    counts: Floats
    standard_errors: Floats
    without_report: int

    def intervals(self, confidence: float = 0.95) -> Floats:
        """Return the lower and the upper end for each symbol, `(n, 2)`, by the normal law.

        Each by itself holds the true count with about this probability, if there are many users.
        """
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence: must be between 0 and 1, not {confidence}")
        margin = NormalDist().inv_cdf(0.5 + confidence / 2.0) * self.standard_errors
        return np.stack([self.counts - margin, self.counts + margin], axis=1)


def estimated_counts(told: Floats) -> CountEstimate:
    """Count from one row of estimates of each user, `(users, n)`; NaN: a user without a report."""
    if told.ndim != 2:
        raise ValueError("told: one row of estimates for each user is needed")
    there = np.asarray(~np.isnan(told).any(axis=1))
    symbols, without = told.shape[1], int(len(there) - there.sum())
    some = told[there]
    variance = (some * some - some).sum(axis=0)
    counts = some.sum(axis=0) + without / symbols
    return CountEstimate(counts, np.sqrt(np.maximum(variance, 0.0)), without)
