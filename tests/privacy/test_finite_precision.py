"""Compare what finite precision adds to the delta of Laplace noise with what is stated.

Exactly, for a small sampler: P is its law on integers, as integer thresholds for words have it.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

from fugu.operators.noise.additive import finite_precision_delta
from tests.operators.noise import derivation

PRECISION = 2
LARGEST = 2 ** (PRECISION + 6)
SHORT = 18
"""Bits of words, instead of 64, so that rounding shows."""


@cache
def drawn() -> dict[int, Decimal]:
    """The law of a draw, with thresholds of so few bits."""
    with localcontext() as context:
        context.prec = derivation.DIGITS
        ones = [short(p) for p in derivation.digit_probabilities(PRECISION)]
        zero = short(derivation.zero_probability(PRECISION))
        found = {0: decimal(zero)}
        for k in range(1, LARGEST + 1):
            likely = (1 - zero) / 2
            for j, one in enumerate(ones):
                likely *= one if (k - 1) >> j & 1 else 1 - one
            found[k] = found[-k] = decimal(likely)
        return found


@cache
def ideal(k: int) -> Decimal:
    return derivation.laplace_probability(k, PRECISION)


def short(probability: Decimal) -> Fraction:
    return Fraction(int((probability * 2**SHORT).to_integral_value()), 2**SHORT)


def decimal(fraction: Fraction) -> Decimal:
    return Decimal(fraction.numerator) / Decimal(fraction.denominator)


@cache
def distance() -> float:
    """In total variation."""
    with localcontext() as context:
        context.prec = derivation.DIGITS
        missing = (ideal(k) - drawn().get(k, Decimal(0)) for k in range(-700, 701))
        return float(sum((max(Decimal(0), one) for one in missing), Decimal("1e-30")))


def added(shifts: tuple[int, ...]) -> Decimal:
    """The exact delta at the epsilon that the ideal noise loses to these shifts together."""
    with localcontext() as context:
        context.prec = 50
        growth = (Decimal(sum(shifts)) / 2**PRECISION).exp()
        sides = []
        for shift in shifts:
            near = range(-60, 61 + shift) if len(shifts) > 1 else range(-LARGEST, LARGEST + shift)
            none = Decimal(0)
            sides.append([(drawn().get(k, none), drawn().get(k - shift, none)) for k in near])
        delta = Decimal(0)
        for pairs in product(*sides):
            one = other = Decimal(1)
            for p, q in pairs:
                one, other = one * p, other * q
            delta += max(Decimal(0), one - growth * other)
        return delta


@pytest.mark.parametrize("shifts", [(1,), (4,), (20,), (1, 1), (4, 8)], ids=str)
def test_no_shift_adds_more_than_is_stated(shifts: tuple[int, ...]) -> None:
    epsilon, largest = sum(shifts) / 2**PRECISION, max(shifts) / 2**PRECISION
    exact = float(added(shifts))
    stated = finite_precision_delta(epsilon, distance(), len(shifts), largest)
    assert 0.0 < exact <= stated <= finite_precision_delta(epsilon, distance(), len(shifts))


def test_it_is_attained_to_within_its_size() -> None:
    """Without the delta the claim is false."""
    assert float(added((4,))) > 0.05 * finite_precision_delta(1.0, distance(), 1)
