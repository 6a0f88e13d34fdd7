"""Follow how far figures move in a tick, and compute the bars of figures that are repeated.

The truth is taken for a random walk that starts anywhere, and figures of some ticks are measured
with known errors. How far it moves in a tick (its drift, a variance) is not known: each drift of a
grid is as likely as the figures make it, and estimates are averages over all of them. A walk that
noise hides has a wide distribution, and bars know it, where a single best drift would often be 0.

>>> values, errors = np.array([0.0, 5.0, 1.0, 6.0]), np.ones(4)
>>> walk = RandomWalk.through(values, errors, np.arange(4))
>>> walk.aged_errors(np.ones(4), np.arange(4.0), confidence=0.95).round(1).tolist()
[1.0, 5.2, 7.3, 8.9]
>>> levels, uncertain = walk.smoothed(5)
>>> levels.round(1).tolist(), uncertain.round(1).tolist()
([0.2, 4.6, 1.4, 5.8, 5.8], [1.0, 1.0, 1.0, 1.0, 6.1])

Source: Kalman 1960; Rauch, Tung and Striebel 1965 (a local level); Harvey 1989, section 3.4 (the
likelihood of its variances).

>>> sum_of(np.ones(4), np.array([0, 1, 2, 3]))
(16.0, 14.0, 1.0)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from statistics import NormalDist
from typing import Self

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import Array, Floats, Integers
from fugu.operators.wevent.strategy import Strategy, standard_errors

_GRID = 25
_HALVINGS = 40
_PASSES = 2
"""A second grid is laid over the drifts that are likely in the first."""
_NEGLIGIBLE = 1e-4
_LEAST_NOISE = 1e-9
_LARGEST = 4.0
"""Times the largest move between measurements, per tick."""


@dataclass(frozen=True, eq=False)
class RandomWalk:
    """Hold what was measured, and how likely each drift of a grid is."""

    values: Floats
    errors: Floats
    ticks: Integers
    """The ticks of measurements, in order, counted from the first one."""
    drifts: Floats
    weights: Floats

    @classmethod
    def through(cls, values: Floats, errors: Floats, ticks: Integers) -> Self:
        """Return the walk through these measurements; two are the least that say how it moves."""
        ticks = ticks - ticks[0]
        if len(values) < 2:
            return cls(values, errors, ticks, np.zeros(1), np.ones(1))
        noise = max(float(np.median(errors)) ** 2, _LEAST_NOISE)
        moves = np.diff(values) ** 2 / np.diff(ticks)
        most = _LARGEST * max(float(moves.max()), noise)
        ends = noise / float(ticks[-1]) ** 2 / 10.0, most
        for _ in range(_PASSES):
            drifts = np.geomspace(*ends, _GRID)
            likely = _likelihoods(values, errors, ticks, drifts) + 0.5 * np.log(drifts)
            weights = np.exp(likely - likely.max())
            told = np.flatnonzero(weights > _NEGLIGIBLE)
            ends = drifts[max(0, told[0] - 1)], drifts[min(_GRID - 1, told[-1] + 1)]
        return cls(values, errors, ticks, drifts, weights / weights.sum())

    def aged_errors(self, noise: Floats, moved: Floats, confidence: float) -> Floats:
        """Return standard errors of figures that noise of these variances, and so many drifts of a
        tick, are between them and the truth.

        A bar of such an error is as wide as what holds the confidence over all drifts, each as
        often as it is likely: few measurements hardly tell them apart. All is taken for Laplace.
        """
        pairs, places = np.unique(np.stack([noise, moved]), axis=1, return_inverse=True)
        each = np.sqrt(pairs[0][:, None] + pairs[1][:, None] * self.drifts)
        weights = self._of_logarithms
        low, high = each.min(axis=1), each.max(axis=1)
        factor = -log(1.0 - confidence)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            with np.errstate(divide="ignore", invalid="ignore"):
                far = np.exp(-factor * middle[:, None] / each) @ weights
            outside = np.nan_to_num(far) > 1.0 - confidence
            low, high = np.where(outside, middle, low), np.where(outside, high, middle)
        return np.asarray(high[places.reshape(-1)])

    def drawn(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw so many drifts, each as often as the figures make it likely."""
        return rng.choice(self.drifts, count, p=self._of_logarithms)

    @property
    def _of_logarithms(self) -> Floats:
        """Return how likely each drift is where every logarithm is as likely before.

        A variance is not to be small or large. With `weights`, which favour large ones, bars of
        repeated figures that noise hides would be wider than need be.
        """
        weights = self.weights / np.sqrt(np.maximum(self.drifts, _LEAST_NOISE))
        return np.asarray(weights / weights.sum())

    def smoothed(self, ticks: int) -> tuple[Floats, Floats]:
        """Return level and standard error of each of so many ticks from the first measurement."""
        values, errors = np.full((2, ticks), np.nan)
        values[self.ticks], errors[self.ticks] = self.values, self.errors
        levels, variances = _smoothed(values, errors, self.drifts)
        mean = levels @ self.weights
        spread = variances + (levels - mean[:, None]) ** 2
        return mean, np.sqrt(spread @ self.weights)


def _likelihoods(values: Floats, errors: Floats, ticks: Integers, drifts: Floats) -> Floats:
    """Return the logarithm of the likelihood of each drift, up to what all have in common."""
    level, variance = np.full(len(drifts), values[0]), np.full(len(drifts), errors[0] ** 2)
    found = np.zeros(len(drifts))
    for value, error, gap in zip(values[1:], errors[1:], np.diff(ticks), strict=True):
        before = variance + drifts * gap
        seen = np.maximum(before + error**2, _LEAST_NOISE)
        found -= 0.5 * (np.log(seen) + (value - level) ** 2 / seen)
        gain = before / seen
        level, variance = level + gain * (value - level), before * (1.0 - gain)
    return found


def _smoothed(values: Floats, errors: Floats, drifts: Floats) -> tuple[Floats, Floats]:
    """Return levels and variances, `(ticks, drifts)`; values are NaN where nothing was measured."""
    levels, variances = np.empty((2, len(values), len(drifts)))
    levels[0], variances[0] = values[0], errors[0] ** 2
    for tick in range(1, len(values)):
        levels[tick], before = levels[tick - 1], variances[tick - 1] + drifts
        gain = 0.0
        if not np.isnan(values[tick]):
            gain = before / np.maximum(before + errors[tick] ** 2, _LEAST_NOISE)
            levels[tick] += gain * (values[tick] - levels[tick])
        variances[tick] = before * (1.0 - gain)
    for tick in range(len(values) - 2, -1, -1):
        before = np.maximum(variances[tick] + drifts, _LEAST_NOISE)
        gain = variances[tick] / before
        levels[tick] += gain * (levels[tick + 1] - levels[tick])
        variances[tick] += gain**2 * (variances[tick + 1] - before)
    return levels, np.maximum(variances, 0.0)


_NUMBERS = 200_000
"""The most numbers of errors that are held at once, of all groups and particles."""
_FEWEST, _MOST = 200, 2_000
_LARGEST_CONFIDENCE = 0.99
"""Tails beyond it are no matter of so few particles."""


@dataclass(frozen=True, eq=False)
class Surviving:
    """Hold, by tick and group, the errors of sums from the last beginning to this tick."""

    errors: Floats
    margins: Floats
    """The half-widths that hold with the confidence asked for; NaN where an error is too large."""


def surviving(
    strategy: Strategy,
    published: Array,
    values: Floats,
    errors: Floats,
    walks: Sequence[RandomWalk],
    begins: Array,
    confidence: float,
) -> Surviving:
    """Follow the errors of figures, tick by tick from the first one of the topic.

    A strategy repeats a figure while the distance from the truth does not look large, so a figure
    that has been repeated errs less than its noise and the moves since would have it: those that
    erred much were replaced. The test, its noise and its threshold are known, and who passed it is
    public. So many particles, each a vector of errors of all groups, begin with the noise of a
    publication, move as the truth does, and count by how likely they were to pass what was passed.

    `values (ticks, groups)` are released, with the standard `errors (ticks,)` of their noise (NaN
    before the first publication), where `published` or repeated; sums begin anew at `begins`.

    Source: Gordon, Salmond and Smith 1993 (the bootstrap filter); Kellaris et al. 2014 (the test).
    """
    ticks, groups = values.shape
    count = int(np.clip(_NUMBERS // groups, _FEWEST, _MOST))
    cloud = _Cloud(np.random.default_rng(0), count, walks)
    found = np.full((2, ticks, groups), np.nan)
    state = strategy.start(1)
    for tick in range(ticks):
        offer, fresh = strategy.offer(state), bool(published[tick])
        price = int(offer.publication[0]) // strategy.sensitivity
        unit = 1.0
        if fresh and price:
            unit = float(standard_errors(np.array([price]))[0] / errors[tick])
        cloud.move()
        if price and strategy.rule.decides:
            scale = strategy.sensitivity * UNITS_PER_NAT / int(offer.decision[0])
            threshold = groups * UNITS_PER_NAT / price
            cloud.test(threshold / cloud.unit, scale / cloud.unit, passed=not fresh)
        if fresh:
            cloud.unit = unit
            cloud.measure(errors[tick])
        cloud.add(anew=bool(begins[tick]))
        found[:, tick] = cloud.errors(confidence)
        noisy = np.rint(values[tick : tick + 1] * unit).astype(np.int64)
        rows = np.array([fresh])
        state = strategy.after(state, offer, rows, noisy if fresh else noisy[:0])
    return Surviving(*found)


class _Cloud:
    """Hold particles: errors of what is repeated now, and of the sum since it began."""

    def __init__(self, rng: np.random.Generator, count: int, walks: Sequence[RandomWalk]) -> None:
        self.unit = 1.0
        """Units of the strategy in one of the figures."""
        self._rng, self._count = rng, count
        self._now = np.full((count, len(walks)), np.nan)
        self._sum = np.zeros((count, len(walks)))
        self._weights = np.full(count, 1.0 / count)
        self._steps = np.sqrt(np.stack([one.drawn(rng, count) for one in walks], axis=1))

    def move(self) -> None:
        """Let the truth move for a tick."""
        self._now += self._steps * self._rng.standard_normal(self._now.shape)

    def test(self, threshold: float, scale: float, *, passed: bool) -> None:
        """Weigh particles by how likely they were to pass the noisy test, or not to."""
        apart = np.abs(self._now).sum(axis=1)
        if np.isnan(apart[0]):
            return
        away = (threshold - apart) / scale
        below = np.where(
            away < 0, 0.5 * np.exp(np.minimum(away, 0.0)), 1.0 - 0.5 * np.exp(-np.abs(away))
        )
        likely = self._weights * np.maximum(below if passed else 1.0 - below, 1e-12)
        self._weights = likely / likely.sum()
        if 1.0 / float(self._weights @ self._weights) < self._count / 2.0:
            self._resample()

    def _resample(self) -> None:
        steps = (np.arange(self._count) + self._rng.random()) / self._count
        chosen = np.searchsorted(np.cumsum(self._weights), steps)
        chosen = np.minimum(chosen, self._count - 1)
        self._now, self._sum = self._now[chosen], self._sum[chosen]
        self._steps = self._steps[chosen]
        self._weights = np.full(self._count, 1.0 / self._count)

    def measure(self, error: float) -> None:
        """Begin with the noise of a publication."""
        self._now = self._rng.laplace(0.0, error / np.sqrt(2.0), self._now.shape)

    def add(self, *, anew: bool) -> None:
        """Add the errors of this tick to those of the sum."""
        self._sum = self._now.copy() if anew else self._sum + self._now

    def errors(self, confidence: float) -> tuple[Floats, Floats]:
        """Return standard error and margin of each group's sum."""
        mean = self._weights @ self._sum**2
        if confidence > _LARGEST_CONFIDENCE or np.isnan(mean[0]):
            return np.sqrt(mean), np.full(len(mean), np.nan)
        far = np.abs(self._sum)
        order = np.argsort(far, axis=0)
        reached = np.cumsum(self._weights[order], axis=0)
        place = np.minimum((reached < confidence).sum(axis=0), self._count - 1)
        return np.sqrt(mean), np.take_along_axis(far, order, axis=0)[place, np.arange(len(mean))]


def sum_of(errors: Floats, ages: Integers) -> tuple[float, float, float]:
    """Return of the sum of figures of ticks in a row the variance of its noise, how many times the
    drift of a tick its other variance is, and the number of equal measurements that it is like.

    A repeated figure errs by the noise of its measurement and by how far the truth has moved since.
    How far it moves in a tick (`random_walks`) is a variance, its drift. The truth of a day that
    rises and falls steeply moves farther than a random walk.

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
