"""Compute bars of figures that a strategy repeats as long as they pass its noisy test.

A strategy repeats a figure while the distance from the truth does not look large, so a figure that
has been repeated errs less than its noise and the moves since would have it: those that erred much
were replaced. The test, its noise and its threshold are known, and who passed it is public. So many
particles, each a vector of errors of all groups, begin with the noise of a publication, move as
the truth does, and count by how likely they were to pass what was passed.

Source: Gordon, Salmond and Smith 1993 (the bootstrap filter); Kellaris et al. 2014 (the test).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.estimates.random_walks import RandomWalk
from fugu.operators.mechanism import Array, Floats
from fugu.operators.wevent.strategy import Strategy
from fugu.operators.wevent.tick import standard_errors

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

    `values (ticks, groups)` are released, with the standard `errors (ticks,)` of their noise (NaN
    before the first publication), where `published` or repeated; sums begin anew at `begins`.
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
