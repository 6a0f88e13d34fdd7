"""Estimate how many users have each symbol now, from the reports in force, whatever they cost.

>>> bits = np.array([[True, False], [True, True], [False, False]])
>>> estimate = estimated_counts(bits, np.array([2.0, 1.0, 0.0]))
>>> estimate.counts.round(3).tolist(), estimate.standard_errors.round(3).tolist()
([4.623, 2.46], [2.2, 2.2])
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fugu.operators.mechanism import Array, Floats


@dataclass(frozen=True, eq=False)
class CountEstimate:
    """Hold counts of all symbols, `(n,)`, with the standard errors that flipped bits cause.

    Let user i report with f_i = 1 / (e^(epsilon_i / 2) + 1), the probability that a bit is flipped.
    Then (bit - f_i) / (1 - 2 f_i) has the mean 1 for the reported symbol and 0 for any other one,
    and the variance f_i (1 - f_i) / (1 - 2 f_i)^2 = e^(epsilon_i / 2) / (e^(epsilon_i / 2) - 1)^2
    for every symbol. The sum over users is unbiased for the symbols that reports in force were made
    of, with the sum of these variances.

    Not in the bars: a user without a report counts as 1 / n of each symbol, a guess that is wrong
    by up to 1, and there are `without_report` of them; and a report in force may be older than the
    symbol of now. A count may be below 0: leave it so, or sums of counts are too large.

    Source: PBA specification, section 3 (estimator at the server).
    """

    counts: Floats
    standard_errors: Floats
    without_report: int

    def intervals(self, confidence: float = 0.95) -> Floats:
        """Return the lower and the upper end for each symbol, `(n, 2)`, by the normal law.

        Each by itself holds the count of reported symbols with about this probability.
        """
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence: must be between 0 and 1, not {confidence}")
        margin = NormalDist().inv_cdf(0.5 + confidence / 2.0) * self.standard_errors
        return np.stack([self.counts - margin, self.counts + margin], axis=1)


def estimated_counts(reports: Array, epsilons: Floats) -> CountEstimate:
    """Estimate from one report of each user: bits `(users, n)`, and nats `(users,)`.

    An epsilon of 0 says that the user has no report, whatever the bits are. `ValueError` for
    anything that is no number of nats.
    """
    if not (np.isfinite(epsilons) & (epsilons >= 0.0)).all():
        raise ValueError("epsilons: each must be a number of nats, 0 for a user without a report")
    if reports.ndim != 2 or len(reports) != len(epsilons):
        raise ValueError("reports: one row of bits for each epsilon is needed")
    there = epsilons > 0.0
    growth = np.exp(epsilons[there] / 2.0)
    f = (1.0 / (growth + 1.0))[:, None]
    symbols, without = reports.shape[1], int(len(there) - there.sum())
    counts = ((reports[there] - f) / (1.0 - 2.0 * f)).sum(axis=0) + without / symbols
    variance = float((growth / np.expm1(epsilons[there] / 2.0) ** 2).sum())
    return CountEstimate(counts, np.full(symbols, np.sqrt(variance)), without)
