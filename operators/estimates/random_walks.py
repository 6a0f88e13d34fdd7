"""Say how far figures move in a tick, and what measurements around a tick tell of it.

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
"""

from dataclasses import dataclass
from math import log
from typing import Self

import numpy as np

from fugu.operators.mechanism import Floats, Integers

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
