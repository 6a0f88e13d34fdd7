"""Estimate means over records, with error bars over users.

>>> sums = RatioSums(groups=1, columns=1)
>>> one_group = np.zeros(4, dtype=np.int64)
>>> sums.add(one_group, np.array([[1.0], [0.0], [2.0], [1.0]]), np.array([1.0, 1.0, 2.0, 2.0]))
>>> found = sums.ratios()
>>> found.estimates.round(3).tolist(), found.standard_errors.round(3).tolist()
([[0.667]], [[0.203]])
"""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, inf
from statistics import NormalDist

import numpy as np

from fugu.operators.mechanism import Array, Floats, Integers

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


_LEAST_SKEWNESS = 1e-6
_TINY = 1e-300
_ALIKE = 1e-12
"""A part of the sums of squares: less than it is no spread, but how sums are rounded."""
_FEW = 4.0
_ADDED = 2.0
"""Users of either kind that are added where none is seen to differ."""


@dataclass(frozen=True, eq=False)
class Ratios:
    """Hold estimates of `(groups, columns)`, and how many users and records they come from."""

    estimates: Floats
    standard_errors: Floats
    users: Integers
    records: Floats
    degrees: Floats
    """Degrees of freedom of each standard error, `(groups, columns)`."""
    skewness: Floats
    """That of the sum of users' deviations, `(groups, columns)`: as small as users are many."""

    def intervals(self, confidence: float = 0.95) -> Floats:
        """Return lower and upper ends, `(groups, columns, 2)`: each by itself holds the mean over
        all such users with about this probability."""
        factors = half_widths(np.ones_like(self.degrees), self.degrees, confidence)
        low, high = (_unskewed(sign * factors, self.skewness) for sign in (1.0, -1.0))
        ends = [self.estimates - self.standard_errors * one for one in (low, high)]
        return np.stack(ends, axis=-1)

    def effective_samples(self) -> Floats:
        """Return how many independent people, asked without noise, would give such bars of a share;
        NaN where the share is not between 0 and 1."""
        shares = np.where((self.estimates > 0) & (self.estimates < 1), self.estimates, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(shares * (1.0 - shares) / self.standard_errors**2)


def _unskewed(factors: Floats, skewness: Floats) -> Floats:
    """Return by how many standard errors an estimate is above the truth where a symmetric one were
    by so many: the inverse of the cubic transformation that takes skewness away."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.cbrt(1.0 + skewness * (factors - skewness / 6.0))
        bent = 3.0 / skewness * (inside - 1.0)
    return np.where(np.abs(skewness) > _LEAST_SKEWNESS, bent, factors)


class RatioSums:
    """Add up what users report in groups, such as hours; a user is in one row of each group.

    Releases of one user are correlated, and users are what is independent. A mean is a ratio, (sum
    of reports) / (number of records). Its variance is that of the sum, over users, of (their
    reports minus the mean times their records).

    Few users may deviate from each other less than others would, as five who happened to release
    the same symbol. So the variance is at least that of the noise, where it is known, and that of
    shares allows for users who are unlike all that were seen.

    With `shares`, a report estimates whether something is the case, so its truth is 0 or 1.

    Source: Cochran 1977, section 6.3 (ratio estimates) and 9.2 (clusters of unequal sizes); Kish
    1965 (effective number of clusters); Satterthwaite 1946 (degrees of freedom of an estimated
    variance); Hall 1992 (the removal of skewness by transformation); Agresti and Coull 1998 (two
    more of either kind, where all are of one).
    """

    def __init__(self, groups: int, columns: int, *, shares: bool = False) -> None:
        self._shares = shares
        self._noise = np.zeros((groups, columns))
        """Sums of the variances of the noise in reports."""
        self._reports = np.zeros((groups, columns))
        self._squares = np.zeros((groups, columns))
        self._products = np.zeros((groups, columns))
        self._fourth = np.zeros((5, groups, columns))
        """Sums of reports to the power of 4, 3, 2, 1 and 0, and counts to the power of the rest."""
        self._third = np.zeros((4, groups, columns))
        """The same of third powers."""
        self._counts = np.zeros(groups)
        self._counts_squared = np.zeros(groups)
        self._users = np.zeros(groups, dtype=np.int64)

    def add(
        self, groups: Integers, reports: Floats, counts: Floats, noise: Floats | None = None
    ) -> None:
        """Add rows, one for each user and group: the sum of what `counts` records report,
        `reports (rows, columns)`, and of the variances of their `noise`, where it is known. Rows
        without records are passed over."""
        noise = np.zeros_like(reports) if noise is None else noise
        there = counts > 0
        order = np.flatnonzero(there)[np.argsort(groups[there], kind="stable")]
        if not len(order):
            return
        groups, counts = groups[order], counts[order]
        reports, noise = reports[order], noise[order]
        begins = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
        own = groups[begins]
        self._noise[own] += np.add.reduceat(noise, begins)
        self._reports[own] += np.add.reduceat(reports, begins)
        self._squares[own] += np.add.reduceat(reports**2, begins)
        self._products[own] += np.add.reduceat(reports * counts[:, None], begins)
        for power in range(5):
            mixed = reports ** (4 - power) * counts[:, None] ** power
            self._fourth[power, own] += np.add.reduceat(mixed, begins)
        for power in range(4):
            mixed = reports ** (3 - power) * counts[:, None] ** power
            self._third[power, own] += np.add.reduceat(mixed, begins)
        self._counts[own] += np.add.reduceat(counts, begins)
        self._counts_squared[own] += np.add.reduceat(counts**2, begins)
        self._users[own] += np.diff(np.append(begins, len(groups)))

    def ratios(self) -> Ratios:
        """Return the estimates; NaN in groups without records, and no bars for a single user."""
        counts, squared = self._counts[:, None], self._counts_squared[:, None]
        users = self._users[:, None].astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = self._reports / counts
            spread = self._squares - 2.0 * means * self._products + means**2 * squared
            if self._shares:
                spread = np.where(self._alike(means, spread), 0.0, spread)
            unseen = self._of_unseen(means, spread)
            variance = np.maximum((spread + unseen) * users / (users - 1.0), self._noise)
            errors = np.where(users > 1, np.sqrt(variance) / counts, np.nan)
            effective = self._counts**2 / self._counts_squared
            degrees = 1.0 / (1.0 / (effective[:, None] - 1.0) + self._tails(means, spread, users))
            third = sum(
                sign * means**p * self._third[p] for p, sign in enumerate((1.0, -3.0, 3.0, -1.0))
            )
            skewness = np.where(spread > 0.0, third / np.maximum(variance, _TINY) ** 1.5, 0.0)
        degrees = np.nan_to_num(degrees)
        return Ratios(means, errors, self._users, self._counts, degrees, np.nan_to_num(skewness))

    def _alike(self, means: Floats, spread: Floats) -> Array:
        """Return where no two users differ, but for how sums are rounded."""
        whole = self._squares + means**2 * self._counts_squared[:, None]
        return np.asarray(spread <= _ALIKE * whole)

    def _of_unseen(self, means: Floats, spread: Floats) -> Floats:
        """Return what users unlike all that were seen may add to the spread of shares.

        Where no two of n users differ, any others are unseen. Elsewhere they are about 1 / n of
        all, and matter while n is small: so much makes bars of five users hold.
        """
        if not self._shares:
            return np.zeros_like(means)
        squared = self._counts_squared[:, None]
        users = self._counts[:, None] ** 2 / squared
        share = (users * np.clip(means, 0.0, 1.0) + _ADDED) / (users + 2.0 * _ADDED)
        of_one = share * (1.0 - share) * squared / users
        return np.asarray(of_one * np.where(spread > 0.0, _FEW / users**2, users))

    def _tails(self, means: Floats, spread: Floats, users: Floats) -> Floats:
        """Return what the tails of users' deviations take from 1 / degrees: with a kurtosis k a
        variance from n of them is as uncertain as one with 2 n / (k - 1) degrees of freedom."""
        signs = (1.0, -4.0, 6.0, -4.0, 1.0)
        fourth = sum(sign * means**p * self._fourth[p] for p, sign in enumerate(signs))
        excess = users * fourth / spread**2 - 3.0
        return np.asarray(np.where(spread > 0.0, np.maximum(excess, 0.0) / (2.0 * users), 0.0))
