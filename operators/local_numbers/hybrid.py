"""The hybrid mechanism: an unbiased report of a number in the local model."""

from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1

import numpy as np

from fugu.operators.mechanism import Floats

ONE_BIT_BELOW = 0.61
"""Up to this epsilon, one bit alone errs least."""


@dataclass(frozen=True)
class HybridMechanism:
    """Report a number of [-1, 1] by the piecewise mechanism, or by one bit.

    Claim. Which of both it is does not depend on the number, and each is epsilon-private in the
    local model: so is the report, for any prior. It is unbiased; from epsilon 0.61 on its variance
    is that of `variance` for every number, below it that is the largest. The laws are continuous,
    and drawn with doubles: they are for simulations, not for a pipeline.

    >>> round(HybridMechanism(1.0).variance, 4), round(HybridMechanism(0.5).variance, 4)
    (4.289, 16.6708)

    Source: Wang et al. 2019; SIP specification, section 9 (ToPL).
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not 0.0 < self.epsilon <= 50.0:
            raise ValueError("epsilon: must be above 0 and at most 50")

    @cached_property
    def root(self) -> float:
        """Return E, the root of e^eps."""
        return exp(self.epsilon / 2.0)

    @cached_property
    def bit(self) -> float:
        """Return the size of a report of one bit."""
        return (exp(self.epsilon) + 1.0) / expm1(self.epsilon)

    @cached_property
    def reach(self) -> float:
        """Return C, the size of the largest piecewise report."""
        return (self.root + 1.0) / expm1(self.epsilon / 2.0)

    @property
    def piecewise(self) -> float:
        """Return how often a report is piecewise."""
        return 1.0 - 1.0 / self.root if self.epsilon >= ONE_BIT_BELOW else 0.0

    @property
    def variance(self) -> float:
        """Return the largest variance of a report."""
        if self.piecewise == 0.0:
            return self.bit**2
        root = self.root
        return (root + 3.0) / (3.0 * root * (root - 1.0)) + self.bit**2 / root

    def chance_of_up(self, values: Floats) -> Floats:
        """Return the chance that one bit is the upper one."""
        return np.asarray(0.5 + 0.5 * values / self.bit)

    def density(self, value: float, reports: Floats) -> Floats:
        """Return the density of piecewise reports of one number."""
        low, high = self._middle(np.array(value))
        inside = (reports >= low) & (reports <= high)
        near = self.root / (self.root + 1.0) / (self.reach - 1.0)
        far = np.where(np.abs(reports) <= self.reach, near / self.root**2, 0.0)
        return np.where(inside, near, far)

    def reports(self, values: Floats, uniforms: Floats) -> Floats:
        """Return a report of each number, from three uniform numbers each, `(3, rows)`."""
        kind, place, where = uniforms
        low, high = self._middle(values)
        middle = low + where * (high - low)
        outside = (self.reach + 1.0) * where
        below = low + self.reach
        outer = np.where(outside < below, outside - self.reach, high + (outside - below))
        piecewise = np.where(place < self.root / (self.root + 1.0), middle, outer)
        bits = np.where(place < self.chance_of_up(values), self.bit, -self.bit)
        return np.where(kind < self.piecewise, piecewise, bits)

    def _middle(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the ends of where most piecewise reports are."""
        low = 0.5 * (self.reach + 1.0) * values - 0.5 * (self.reach - 1.0)
        return low, low + self.reach - 1.0
