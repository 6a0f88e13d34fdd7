"""Compose pure losses with discrete Gaussian noise exactly, in closed form.

Claim. Releases that draw independently, and whose losses are about the same neighbours, have
together, at every epsilon, at most

    delta(epsilon) = sum over signs of the product of p_i times
                     delta_G(epsilon - sum of +-epsilon_i; mu),   p_i = 1 / (1 + e^(-+epsilon_i)),

with one sign for each pure loss epsilon_i, mu^2 = (sum of the squares of all Gaussian losses) /
(2^28 - 9), and delta_G the curve of one Gaussian mechanism. A pure loss is post-processing of a
randomized response of one bit, which is why its law takes the place of any other; without Gaussian
noise this is the optimal composition of pure losses. Deltas of finite precision are added, and so
are those of losses of which no more than (epsilon, delta) is known.

Arithmetic is in doubles, with an allowance above its rounding: a relative 1e-9 of delta, and 2^-44
of the terms whose difference delta_G is. Epsilons count units of 2^-40 nat.

>>> from fugu.operators.budget_units import in_nats
>>> both = ComposedLoss.of(GaussianLoss(2**26, 1)) + ComposedLoss.of(PureLoss(0.5))
>>> f"{float(both.delta(units_of(1.0))):.4e}"
'3.2791e-02'
>>> round(in_nats(both.epsilon(Fraction(1, 1000)) or 0), 4)
1.7722

Source: continual release specification, section 4; Kairouz, Oh and Viswanath 2015 (pure losses).
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import erfc, exp, expm1, fsum, sqrt

from fugu.operators.budget_units import UNITS_PER_NAT, in_nats, units_of
from fugu.operators.composition.signed_sums import signed_sums
from fugu.operators.loss import (
    BoundedLoss,
    GaussianLoss,
    Loss,
    PureLoss,
    RepeatedLoss,
    StatedLoss,
    WideGaussianLoss,
)
from fugu.operators.noise.gaussian_account import VARIANCE
from fugu.operators.noise.gaussian_precision import ANY_STEPS, delta_of_draw, delta_of_draws

LARGEST_EPSILON = UNITS_PER_NAT << 11

_ROUNDING = 1e-9
_CANCELLATION = 2.0**-44
_TINY = 1e-300
"""Cover probabilities that are too small for a double."""
_FIRST_TRIED = UNITS_PER_NAT >> 20


@dataclass(frozen=True)
class ComposedLoss:
    """Hold the losses of independent releases, each with its number.

    `beside` is the delta that none of them accounts for. `sums` says which promises may meet here.
    """

    losses: frozenset[tuple[BoundedLoss | GaussianLoss, int]]
    beside: Fraction

    @classmethod
    def of(cls, loss: Loss, beside: Fraction = Fraction(0)) -> "ComposedLoss":
        """Return what one promise loses; (epsilon, delta) is a pure loss but for its delta."""
        if isinstance(loss, StatedLoss):
            return cls.of(PureLoss(loss.epsilon), beside + Fraction(loss.delta))
        if isinstance(loss, RepeatedLoss):
            return cls(frozenset({(PureLoss(loss.each), loss.number)}), beside)
        return cls(frozenset({(loss, 1)}), beside)

    def __add__(self, other: "ComposedLoss") -> "ComposedLoss":
        numbers = Counter(dict(self.losses))
        numbers.update(dict(other.losses))
        return ComposedLoss(frozenset(numbers.items()), self.beside + other.beside)

    def repeated(self, times: int) -> "ComposedLoss":
        """Return the loss of so many releases, each with draws of its own."""
        repeated = frozenset((loss, times * number) for loss, number in self.losses)
        return ComposedLoss(repeated, times * self.beside)

    def over(self, changes: int, beside: Fraction) -> "ComposedLoss":
        """Return the loss between inputs that are so many changes apart."""
        return ComposedLoss(
            frozenset((loss.over(changes), number) for loss, number in self.losses), beside
        )

    def delta(self, epsilon: int) -> Fraction:
        """Return the delta at `epsilon` units, rounded up, and at most 1."""
        return min(Fraction(1), self._of_law(epsilon) + self.delta_of_draws(epsilon) + self.beside)

    def epsilon(self, delta: Fraction) -> int | None:
        """Return an epsilon in units at which `delta` suffices, rounded up; None without any."""
        if self.delta(0) <= delta:
            return 0
        high = _FIRST_TRIED
        while self.delta(high) > delta:
            high *= 2
            if high > LARGEST_EPSILON:
                return None
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high

    @cached_property
    def noise(self) -> dict[GaussianLoss, int]:
        """Return the Gaussian losses, each with its number."""
        return {loss: number for loss, number in self.losses if isinstance(loss, GaussianLoss)}

    @cached_property
    def pure(self) -> Counter[int]:
        """Return the largest losses, where they are bounded, in units, each with its number."""
        pure: Counter[int] = Counter()
        for loss, number in self.losses:
            if not isinstance(loss, GaussianLoss):
                pure[units_of(loss.epsilon)] += number
        return pure

    @cached_property
    def _signed_sums(self) -> dict[int, float]:
        return signed_sums(self.pure)

    def _of_law(self, epsilon: int) -> Fraction:
        if not self.noise and epsilon >= sum(loss * number for loss, number in self.pure.items()):
            return Fraction(0)
        squares = sum(number * loss.squares for loss, number in self.noise.items())
        ratio = sqrt(squares / VARIANCE)
        terms = (
            likely * gaussian_delta(in_nats(epsilon - signed), ratio)
            for signed, likely in self._signed_sums.items()
        )
        return Fraction(fsum(terms) * (1.0 + _ROUNDING) + _TINY)

    def delta_of_draws(self, epsilon: int) -> Fraction:
        """Return what finite precision of Gaussian draws adds to delta."""
        nats = in_nats(epsilon)
        return sum(
            (number * _delta_of_draws(loss, nats) for loss, number in self.noise.items()),
            Fraction(0),
        )


def _delta_of_draws(loss: GaussianLoss, epsilon: float) -> Fraction:
    if isinstance(loss, WideGaussianLoss):
        return loss.draws * delta_of_draw(ANY_STEPS, epsilon)
    return delta_of_draws(loss.draws, loss.squares, epsilon)


def gaussian_delta(epsilon: float, ratio: float) -> float:
    """Return the delta of continuous Gaussian noise at `epsilon` nats of any sign, rounded up.

    `ratio` is sensitivity over deviation. Source: Balle and Wang 2018.

    >>> f"{gaussian_delta(1.0, 0.5):.6f}"
    '0.006830'
    """
    if ratio == 0.0:
        return max(0.0, -expm1(epsilon)) if epsilon < 0.0 else 0.0
    near, far = epsilon / ratio - ratio / 2.0, epsilon / ratio + ratio / 2.0
    above, tail = erfc(near / sqrt(2.0)) / 2.0, erfc(far / sqrt(2.0)) / 2.0
    if tail < _TINY:
        return above
    beyond = exp(epsilon) * tail
    allowance = _CANCELLATION * (1.0 + far * far) * (above + beyond)
    return min(1.0, max(0.0, above - beyond) + allowance)
