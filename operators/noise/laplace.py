"""Laplace noise on a grid."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import floor, isfinite, sqrt
from typing import ClassVar

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.guarantee import LaplaceLoss
from fugu.operators.mechanism import Integers, Words
from fugu.operators.noise import discrete_laplace as sampler
from fugu.operators.noise.additive import COMFORTABLE, AdditiveNoise, finite_precision_delta
from fugu.operators.noise.grid import Grid

LARGEST_EPSILON = 20.0
"""Beyond it the finite precision of the sampler would show, as a delta above 2e-10."""
_SCALE = 1 << sampler.PRECISION


@dataclass(frozen=True)
class LaplaceNoise(AdditiveNoise):
    """Add Laplace noise to a query with a known L1 sensitivity: pure epsilon-DP.

    `sensitivity`, `lower` and `upper` count units; `epsilon` is in nats.

    Claim. With s = floor(2^24 epsilon) and a grid step of g = sensitivity / (s - c + 1), where one
    individual changes at most c coordinates, the indices of neighbours differ by at most s in L1.
    Noise with a scale of 2^24 steps then loses at most s / 2^24 <= epsilon: rounding to the grid
    costs nothing. Sampling in finite precision adds a delta, which is stated.

    `lower` and `upper` bound the value of every coordinate; `coordinates` is how many of them one
    individual can change. Raises `ValueError`, and `BudgetBelowResolution` for an epsilon below
    `coordinates` times 2^-24.

    >>> noise = LaplaceNoise(sensitivity=1000, epsilon=0.5, lower=0, upper=1000)
    >>> noise.index_sensitivity, noise.grid.step, noise.warning
    (8388608, Fraction(125, 1048576), None)
    >>> round(noise.standard_deviation, 3), noise.finite_precision_delta < 1e-18
    (2828.427, True)

    Source: noise specification, sections 2 and 3; Ghosh, Roughgarden and Sundararajan 2009.
    """

    sensitivity: int
    epsilon: float
    lower: int
    upper: int
    coordinates: int = 1
    grid: Grid = field(init=False, repr=False, compare=False)

    precision: ClassVar[int] = sampler.PRECISION
    words_per_draw: ClassVar[int] = sampler.WORDS_PER_DRAW
    largest: ClassVar[int] = sampler.LARGEST

    def __post_init__(self) -> None:
        self._require_sensitivity()
        if not isfinite(self.epsilon) or not 0.0 < self.epsilon <= LARGEST_EPSILON:
            raise ValueError(
                f"epsilon: must be above 0 and at most {LARGEST_EPSILON:g} nats, not {self.epsilon}"
            )
        self._make_grid(
            self.index_sensitivity - self.coordinates + 1,
            f"epsilon: {self.epsilon:g} nats is too little for {self.coordinates} "
            f"coordinate(s); give at least {self.coordinates / _SCALE:g} nats",
        )

    @cached_property
    def index_sensitivity(self) -> int:
        """Return s, the most grid steps by which neighbours differ, in L1."""
        return floor(_SCALE * Fraction(self.epsilon))

    @property
    def charge(self) -> int:
        """Return s / 2^24 nats in units of 2^-40 nat: the exact cost of a release."""
        return self.index_sensitivity * (UNITS_PER_NAT // _SCALE)

    @property
    def loss(self) -> LaplaceLoss:
        """Return the loss of a release where one individual changes one coordinate."""
        return LaplaceLoss(1.0 / _SCALE, self.index_sensitivity)

    @property
    def warning(self) -> str | None:
        """Return what to know about a budget close to the resolution."""
        if self.index_sensitivity >= COMFORTABLE * self.coordinates:
            return None
        asked = self.sensitivity / Fraction(self.epsilon)
        return (
            f"epsilon {self.epsilon:g} is close to the smallest that can be sampled: the noise is "
            f"{float(self.scale / asked):.3g} times as large as this epsilon needs"
        )

    @property
    def scale(self) -> Fraction:
        """Return b = 2^24 g, in units; the variance is 2 b^2, within a relative 2^-51."""
        return _SCALE * self.grid.step

    @property
    def standard_deviation(self) -> float:
        """Return the deviation of the noise in units."""
        return float(self.scale) * sqrt(2.0)

    @cached_property
    def finite_precision_delta(self) -> float:
        """Return the delta per release, at `epsilon`."""
        return finite_precision_delta(self.epsilon, sampler.TOTAL_VARIATION, self.coordinates)

    def _sample(self, words: Words) -> Integers:
        return sampler.SAMPLER.sample(words)
