"""Compare the noise of published numbers with the law that is declared."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import chisquare

from fugu.dataflows.offline.auditing.audited import Fit
from fugu.dataflows.offline.auditing.records.worlds import Running, StreamWorld
from fugu.dataflows.records.numbers import decimals_of
from fugu.operators.budget import without_budget
from fugu.operators.mechanism import Floats
from fugu.operators.noise.number_release import NumberRelease

_CELLS = 40
_REACH = 30.0
"""Deviations within which cells are chosen."""
_GRID = 200_001
_NUMBER = 1
"""The column of the first published number."""


def noise_fits(fresh: Running, one: StreamWorld, other: StreamWorld) -> tuple[Fit, ...]:
    """Return tests of the noise at both ends of the range; nothing where no noise is added."""
    inside = without_budget(fresh.configured.mechanism)
    if not isinstance(inside, NumberRelease):
        return ()
    return tuple(
        Fit(f"the noise on {name} follows the declared law", world, Shape(inside, end))
        for name, world, end in (
            ("the least number", one, inside.lower),
            ("the largest number", other, inside.upper),
        )
    )


@dataclass(frozen=True, eq=False)
class Shape:
    """Test numbers that were published of `truth`, in units, by a chi-square test."""

    release: NumberRelease
    truth: int

    def __call__(self, seen: Floats) -> float:
        """Return the probability that noise of the declared law fits no better."""
        published = seen[:, _NUMBER]
        ends = np.concatenate([[-np.inf], self._edges(), [np.inf]])
        expected = np.diff(self._distribution(ends)) * len(published)
        observed = np.histogram(published, ends)[0]
        if observed.sum() < len(published):
            return 0.0
        return float(chisquare(observed, expected).pvalue)

    def _edges(self) -> Floats:
        """Return ends of cells of nearly equal probability, between two published numbers."""
        reach = _REACH * self.release.standard_deviation
        truth = self.truth / self.release.units_per_one
        grid = truth + np.linspace(-reach, reach, _GRID)
        wished = np.interp(np.arange(1, _CELLS) / _CELLS, self._distribution(grid), grid)
        decimal = 10.0 ** -decimals_of(self.release.units_per_one)
        return np.unique(np.floor(wished / decimal) + 0.5) * decimal

    def _distribution(self, numbers: Floats) -> Floats:
        truth = self.truth / self.release.units_per_one
        return self.release.distribution((numbers - truth) * self.release.units_per_one)
