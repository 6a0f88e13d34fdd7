"""Add Gaussian noise on a grid, and account for it exactly."""

from dataclasses import dataclass, field
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from math import floor, inf, isfinite, isqrt, nextafter
from typing import ClassVar

from fugu.operators.mechanism import Integers, Words
from fugu.operators.noise import gaussian_table as sampler
from fugu.operators.noise.additive import COMFORTABLE, AdditiveNoise
from fugu.operators.noise.gaussian_table import PRECISION, delta_of_draw
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


VARIANCE = 4**PRECISION - 9
"""The variance of the normal noise that draws are made of, in squared grid steps."""
_DIGITS = 80
_TERMS = 220
"""Count the terms of the continued fraction: from `_FAR` on, more than enough for all digits."""
_FAR = 8
_NEGLIGIBLE = Decimal("1e-80")
_ROOT_OF_TWO_PI = Decimal(
    "2.506628274631000502415765284811045253006986740609938316629923576342293654607841974946595838"
)


@lru_cache(maxsize=256)
def squares_of(epsilon: float, delta: float, variance: int = VARIANCE) -> int:
    """Return the most squared grid steps that (epsilon, delta) pays for.

    Take draws of the discrete Gaussian with a deviation of 2^14 steps, each perhaps chosen after
    those before it, whose indices differ between neighbours by at most M squared steps in all. They
    are post-processing of normal noise with a variance of 2^28 - 9, but for a factor between
    1 - 10^-76 and 1 + 10^-76 for each draw. Normal noise composes exactly: for all draws together

        delta(epsilon) = Phi(m / 2 - epsilon / m) - e^epsilon Phi(-m / 2 - epsilon / m),

    where m^2 = M / (2^28 - 9). Draws of another deviation have another `variance`, its square less
    9. Delta grows with M, and the largest M that keeps delta is found by halving. One step less
    pays for the factors of up to 2^60 draws, and for the arithmetic, which is decimal: the
    same on every machine. Epsilon and delta are positive, and delta is below 1.

    >>> squares_of(epsilon=3.0, delta=1e-6)
    112621999

    Source: continual release specification, section 4 (Theorem 3); Balle and Wang 2018; Dong, Roth
    and Su 2019.
    """
    with localcontext(Context(prec=_DIGITS)):
        low, high = 0, 1
        while delta_of_squares(high, epsilon, variance) <= delta:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            if delta_of_squares(middle, epsilon, variance) <= delta:
                low = middle
            else:
                high = middle
    return max(0, low - 1)


def delta_of_squares(squares: int, epsilon: float, variance: int = VARIANCE) -> Decimal:
    """Return the delta of draws that differ by so many squared steps, to 60 digits or more."""
    with localcontext(Context(prec=_DIGITS)):
        nats, ratio = Decimal(epsilon), (Decimal(squares) / variance).sqrt()
        near, far = nats / ratio - ratio / 2, nats / ratio + ratio / 2
        return _above(near) - nats.exp() * _above(far)


def _above(deviations: Decimal) -> Decimal:
    """Return the chance of a normal number to be so many deviations above its mean."""
    if deviations < 0:
        return 1 - _above(-deviations)
    density = (-deviations * deviations / 2).exp() / _ROOT_OF_TWO_PI
    if deviations >= _FAR:
        return density / _fraction(deviations)
    term = total = deviations
    factor = 1
    while term > _NEGLIGIBLE:
        factor += 2
        term *= deviations * deviations / factor
        total += term
    return Decimal("0.5") - density * total


def _fraction(deviations: Decimal) -> Decimal:
    """Return x + 1 / (x + 2 / (x + 3 / ...)): density over chance, of what is far above."""
    below = deviations
    for term in range(_TERMS, 0, -1):
        below = deviations + term / below
    return below
