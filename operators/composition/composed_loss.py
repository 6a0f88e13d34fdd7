"""Compose pure losses with discrete Gaussian noise exactly, or by privacy loss distributions.

Pure losses stand for randomized responses of one bit. A loss of e has a plus with probability 1 /
(1 + exp(-e)), and else a minus. Two losses may be taken for one of their sum, and any for a larger
one: so many are made few.

>>> {loss: round(likely, 4) for loss, likely in signed_sums(Counter({UNITS_PER_NAT: 2})).items()}
{2199023255552: 0.5344, 0: 0.3932, -2199023255552: 0.0723}

Source: continual release specification, section 4.

>>> from fugu.operators.budget_units import in_nats
>>> both = ComposedLoss.of(GaussianLoss(2**26, 1)) + ComposedLoss.of(PureLoss(0.5))
>>> f"{float(both.delta(units_of(1.0))):.4e}"
'3.2791e-02'
>>> round(in_nats(both.epsilon(Fraction(1, 1000)) or 0), 4)
1.7722
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from importlib.util import find_spec
from math import ceil, erfc, exp, expm1, fsum, lgamma, log1p, sqrt
from typing import TYPE_CHECKING

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT, in_nats, units_of
from fugu.operators.guarantee import (
    BoundedLoss,
    GaussianLoss,
    LaplaceLoss,
    Loss,
    PureLoss,
    RepeatedLoss,
    ResponseLoss,
    StatedLoss,
    WideGaussianLoss,
)
from fugu.operators.mechanism import Floats
from fugu.operators.noise.gaussian import VARIANCE
from fugu.operators.noise.gaussian_table import ANY_STEPS, delta_of_draw, delta_of_draws

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution


_MOST_SUMS = 4096
"""Bound the work: beyond it losses are rounded up until many sums of them are equal."""
_MOST_EQUAL = 1024
_FINE_GRID = UNITS_PER_NAT >> 20


def signed_sums(losses: Counter[int]) -> dict[int, float]:
    """Return how likely each sum of losses is, all in units; `losses` holds their numbers."""
    few = _fewer(losses, _MOST_EQUAL)
    law, grid = _law_of_sums(few), _FINE_GRID
    while law is None:
        coarse: Counter[int] = Counter()
        for loss, number in few.items():
            coarse[-(-loss // grid) * grid] += number
        law, grid = _law_of_sums(_fewer(coarse, _MOST_SUMS - 1)), 2 * grid
    return law


def _fewer(losses: Counter[int], most: int) -> Counter[int]:
    """Return at most so many of every loss: two at a time are taken for one of their sum."""
    fewer: Counter[int] = Counter()
    for loss, number in losses.items():
        doubled, rest = loss, number
        while rest > most:
            doubled, rest = 2 * doubled, (rest + 1) // 2
        fewer[doubled] += rest
    return fewer


def _law_of_sums(losses: Counter[int]) -> dict[int, float] | None:
    """Return the law; None where it has too many sums."""
    law = {0: 1.0}
    for loss, number in losses.items():
        signs = list(_signs(loss, number))
        grown: dict[int, float] = {}
        for signed, likely in law.items():
            for added, chance in signs:
                grown[signed + added] = grown.get(signed + added, 0.0) + likely * chance
            if len(grown) > _MOST_SUMS:
                return None
        law = grown
    return law


def _signs(loss: int, number: int) -> Iterator[tuple[int, float]]:
    """Yield all sums of so many equal losses with signs, and how likely they are."""
    nats = in_nats(loss)
    plus = -log1p(exp(-nats))
    minus = plus - nats
    for minuses in range(number + 1):
        pluses = number - minuses
        ways = lgamma(number + 1) - lgamma(pluses + 1) - lgamma(minuses + 1)
        yield (pluses - minuses) * loss, exp(ways + pluses * plus + minuses * minus)


LARGEST_EPSILON = UNITS_PER_NAT << 11

_ROUNDING = 1e-9
_CANCELLATION = 2.0**-44
_TINY = 1e-300
"""Cover probabilities that are too small for a double."""
_FIRST_TRIED = UNITS_PER_NAT >> 20


@dataclass(frozen=True)
class ComposedLoss:
    """Hold the losses of independent releases, each with its number.

    Claim. Releases that draw independently, and whose losses are about the same neighbours, have
    together, at every epsilon, at most

        delta(epsilon) = sum over signs of the product of p_i times
                         delta_G(epsilon - sum of +-epsilon_i; mu),
        p_i = 1 / (1 + e^(-+epsilon_i)),

    with one sign for each pure loss epsilon_i, mu^2 = (sum of the squares of all Gaussian losses) /
    (2^28 - 9), and delta_G the curve of one Gaussian mechanism. A pure loss is post-processing of a
    randomized response of one bit, which is why its law takes the place of any other; without
    Gaussian noise this is the optimal composition of pure losses. Deltas of finite precision are
    added, and so are those of losses of which no more than (epsilon, delta) is known.

    Arithmetic is in doubles, with an allowance above its rounding: a relative 1e-9 of delta, and
    2^-44 of the terms whose difference delta_G is. Epsilons count units of 2^-40 nat.

    `beside` is the delta that none of them accounts for. `sums` says which promises may meet here.

    Source: continual release specification, section 4; Kairouz, Oh and Viswanath 2015 (pure
    losses).
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


ROUNDING = Fraction(1, 10**10)
_CELLS = 64
"""Divide the smallest loss into so many cells, unless there are more than `_MOST_CELLS` in all."""
_MOST_CELLS = 1 << 18
_DEVIATIONS = 9.0
"""Follow the loss of Gaussian noise so far from its mean; a larger one counts as infinite."""


def gains(composed: ComposedLoss) -> bool:
    """Return whether distributions may say less than the closed form, and can be computed."""
    finer = any(isinstance(loss, LaplaceLoss | ResponseLoss) for loss, _ in composed.losses)
    return finer and find_spec("dp_accounting") is not None


def epsilon_by_distributions(composed: ComposedLoss, delta: Fraction, below: int) -> int | None:
    """Return an epsilon of fewer than `below` units at which `delta` suffices; None without any.

    The closed form takes any bounded loss for that of a randomized response of one bit. Discrete
    Laplace noise and responses among many symbols lose less. Their curves of delta over epsilon are
    turned into distributions on a grid of losses that dominate them ("connect the dots"), which are
    composed by Fourier transforms. Those are in doubles: `ROUNDING` of delta is set aside for them.

    Source: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022; Koskela, Jalko and Honkela 2020.
    """
    left = delta - composed.beside - composed.delta_of_draws(below) - ROUNDING
    if left <= 0:
        return None
    nats = distribution(composed).get_epsilon_for_delta(float(left))
    return units_of(nats) if nats < in_nats(below) else None


def distribution(composed: ComposedLoss) -> "PrivacyLossDistribution":
    """Return a distribution that dominates the composed loss."""
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    reaches = {loss: _reach(loss) for loss, _ in composed.losses}
    total = sum(number * reaches[loss] for loss, number in composed.losses)
    cell = max(min(reaches.values()) / _CELLS, total / _MOST_CELLS)
    whole = None
    for loss, number in composed.losses:
        cells = ceil(reaches[loss] / cell)
        curve = delta_curve(loss, cell * np.arange(-cells, cells + 1, dtype=np.float64))
        falling = np.minimum.accumulate(curve)
        law = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(cell, -cells, cells, falling)
        one = privacy_loss_distribution.PrivacyLossDistribution(law).self_compose(number)
        whole = one if whole is None else whole.compose(one)
    return whole


def delta_curve(loss: BoundedLoss | GaussianLoss, epsilons: Floats) -> Floats:
    """Return the delta of one loss at each epsilon, in nats and of any sign."""
    match loss:
        case GaussianLoss(squares=squares):
            ratio = sqrt(squares / VARIANCE)
            return np.array([gaussian_delta(epsilon, ratio) for epsilon in epsilons.tolist()])
        case LaplaceLoss(rate=rate, shift=shift):
            return _of_laplace(rate, shift, epsilons)
        case ResponseLoss(epsilon=epsilon, symbols=symbols):
            return _of_responses(epsilon, symbols, epsilons)
        case PureLoss(epsilon=epsilon):
            return _of_responses(epsilon, 2, epsilons)


def _of_responses(epsilon: float, symbols: int, epsilons: Floats) -> Floats:
    """Add up what all outcomes exceed, of a truth and of another symbol."""
    other = exp(-epsilon) / (1.0 + (symbols - 1) * exp(-epsilon))
    likely, grown = other * exp(epsilon), np.exp(epsilons)
    exceeded = np.maximum(likely - grown * other, 0.0) + np.maximum(other - grown * likely, 0.0)
    curve: Floats = exceeded + (symbols - 2) * other * np.maximum(1.0 - grown, 0.0)
    return curve


def _of_laplace(rate: float, shift: int, epsilons: Floats) -> Floats:
    """Compare the chances of the outcomes whose loss is above epsilon: all up to the last one."""
    last = np.ceil((shift - epsilons / rate) / 2.0) - 1.0
    outside = log1p(exp(-rate))
    one = -np.expm1(-rate * (last + 1.0) - outside)
    other = np.exp(epsilons - rate * (shift - last) - outside)
    everything = -np.expm1(epsilons)
    curve: Floats = np.where(last < shift, one - other, everything)
    return np.where(last < 0.0, 0.0, np.maximum(curve, 0.0))


def _reach(loss: BoundedLoss | GaussianLoss) -> float:
    """Return how large a loss is at most, or nearly always."""
    if not isinstance(loss, GaussianLoss):
        return loss.epsilon
    ratio = sqrt(loss.squares / VARIANCE)
    return ratio * (ratio / 2.0 + _DEVIATIONS)
