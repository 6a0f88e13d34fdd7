"""Gaussian noise on a grid."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import floor, inf, isfinite, isqrt, nextafter
from typing import ClassVar

from fugu.operators.mechanism import Integers, Words
from fugu.operators.noise import discrete_gaussian as sampler
from fugu.operators.noise.additive import COMFORTABLE, AdditiveNoise
from fugu.operators.noise.gaussian_precision import delta_of_draw
from fugu.operators.noise.grid import Grid

_DEVIATION = 1 << sampler.PRECISION
_LARGEST_RATIO = 10
"""Limits sensitivity over deviation; beyond it, the noise of neighbours would hardly overlap."""


@dataclass(frozen=True)
class GaussianNoise(AdditiveNoise):
    """Add Gaussian noise to a query with a known L2 sensitivity: zero-concentrated DP.

    `sensitivity`, `deviation`, `lower` and `upper` count units.

    Claim. With s = floor(2^14 sensitivity / standard_deviation) and a grid step of g = sensitivity
    / s, or sensitivity / (s - r) with r = ceil(sqrt(c)) where one individual changes c > 1
    coordinates, the indices of neighbours differ by at most s in L2. Noise with a deviation of 2^14
    steps is then rho-zCDP with rho = s^2 / 2^29. The deviation is never below what was asked for.

    `lower` and `upper` bound the value of every coordinate; `coordinates` is how many of them one
    individual can change. Raises `ValueError`, and `BudgetBelowResolution` for a deviation so large
    that no step is left within the sensitivity.

    >>> noise = GaussianNoise(sensitivity=1000, deviation=500.0, lower=0, upper=1000)
    >>> noise.index_sensitivity, noise.rho, float(noise.standard_deviation), noise.warning
    (32768, Fraction(2, 1), 500.0, None)

    Source: noise specification, sections 2 and 4; Canonne, Kamath and Steinke 2020, Theorem 4.
    """

    sensitivity: int
    deviation: float
    lower: int
    upper: int
    coordinates: int = 1
    grid: Grid = field(init=False, repr=False, compare=False)

    precision: ClassVar[int] = sampler.PRECISION
    words_per_draw: ClassVar[int] = sampler.WORDS_PER_DRAW
    largest: ClassVar[int] = sampler.LARGEST

    def __post_init__(self) -> None:
        self._require_sensitivity()
        if not isfinite(self.deviation) or self.deviation * _LARGEST_RATIO < self.sensitivity:
            raise ValueError(
                f"deviation: must be at least {self.sensitivity / _LARGEST_RATIO:g}, a tenth of "
                f"the sensitivity, not {self.deviation}"
            )
        largest = _DEVIATION * self.sensitivity / (self._rounding + 1)
        self._make_grid(
            self.index_sensitivity - self._rounding,
            f"deviation: {self.deviation:g} units is too much for {self.coordinates} "
            f"coordinate(s); give at most {largest:g} units",
        )

    @cached_property
    def index_sensitivity(self) -> int:
        """Return s, the most grid steps by which neighbours differ, in L2."""
        return floor(_DEVIATION * self.sensitivity / Fraction(self.deviation))

    @property
    def rho(self) -> Fraction:
        """Return the zero-concentrated DP of one release."""
        return Fraction(self.index_sensitivity**2, 2 * _DEVIATION**2)

    @property
    def standard_deviation(self) -> Fraction:
        """Return the deviation of the noise in units, at least `deviation`."""
        return _DEVIATION * self.grid.step

    @property
    def warning(self) -> str | None:
        """Return what to know about a deviation close to the resolution."""
        allowance = max(1, self._rounding)
        if self.index_sensitivity >= COMFORTABLE * allowance:
            return None
        return (
            f"deviation {self.deviation:g} is close to the largest that can be sampled: the noise "
            f"has {float(self.standard_deviation) / self.deviation:.3g} times as much"
        )

    def finite_precision_delta(self, epsilon: float) -> float:
        """Return the delta per release, for a claim made at `epsilon`."""
        each = delta_of_draw(self.index_sensitivity, epsilon)
        return min(1.0, nextafter(float(self.coordinates * each), inf))

    def _sample(self, words: Words) -> Integers:
        return sampler.sample(words)

    @property
    def _rounding(self) -> int:
        """Return r, what rounding several coordinates may add in L2; one rounds exactly."""
        return 0 if self.coordinates == 1 else 1 + isqrt(self.coordinates - 1)
