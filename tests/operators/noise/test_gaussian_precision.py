"""Bound what finite precision adds to draws from the table of the discrete Gaussian."""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp

import numpy as np
import pytest

from fugu.operators.noise import discrete_gaussian
from fugu.operators.noise.discrete_gaussian import LARGEST, table
from fugu.operators.noise.gaussian_precision import PER_DEVIATION, TAUS, UNITS, delta_of_draw
from tests.operators.noise.toy_tables import DIGITS, Table, total_of

SIGMA = 2**14
_BITS = 208
_SHORT = 128


@cache
def weights() -> list[int]:
    """e^(-k^2 / (2 sigma^2)) for k = 0, 1, ... until it is below 2^-208, in such units."""
    ratio = discrete_gaussian._exponential()
    square, weight, found = ratio * ratio >> _BITS, 1 << _BITS, []
    while weight:
        found.append(weight)
        weight, ratio = weight * ratio >> _BITS, ratio * square >> _BITS
    return found


@cache
def missing() -> list[int]:
    """a(k), in units of 2^-128 and rounded up."""
    words = np.diff(np.append(table().astype(object), 2**64), prepend=0).tolist()
    total = weights()[0] + 2 * sum(weights()[1:])
    found = []
    for k, weight in enumerate(weights()[: LARGEST + 1]):
        ideal = weight * (2 if k else 1) << 64
        found.append(max(0, -(-((ideal - words[k] * total) << _SHORT) // ideal)))
    return found


@cache
def tau(shift: int) -> Fraction:
    """The sum of p(x) a(x + shift) for the table that is drawn from."""
    likely, short = weights(), missing()
    weight = dict(enumerate(likely)).get
    inside = sum(weight(abs(x - shift), 0) * short[abs(x)] for x in range(-LARGEST, LARGEST + 1))
    beyond = sum(likely[LARGEST + 1 + shift :]) + sum(
        weight(abs(x - shift), 0) for x in range(LARGEST + 1, shift + len(likely))
    )
    total = likely[0] + 2 * sum(likely[1:])
    return Fraction(inside + (beyond << _SHORT), total << _SHORT)


@pytest.mark.parametrize("column", [0, 1, 16, 63, 128])
def test_a_column_is_the_derived_one_rounded_up(column: int) -> None:
    derived = tau(column * SIGMA // PER_DEVIATION)
    assert derived <= Fraction(TAUS[column], UNITS) <= derived + Fraction(3, UNITS)


@pytest.mark.parametrize("shift", [1, 163, 1638, 5000, 20_011, 41_779, 65_000])
def test_between_two_columns_the_next_one_is_enough_and_not_much_too_much(shift: int) -> None:
    column = -(-shift * PER_DEVIATION // SIGMA)
    assert tau(shift) <= Fraction(TAUS[column], UNITS) <= tau(shift) * Fraction(5, 4)


def test_columns_grow() -> None:
    assert list(TAUS) == sorted(TAUS)


@pytest.mark.parametrize(
    ("deviations", "printed"),
    [
        (0.01, 2.56e-15),
        (0.1, 2.71e-15),
        (0.5, 1.11e-14),
        (1.0, 2.58e-13),
        (2.0, 1.65e-10),
        (2.55, 4.36e-9),
        (3.0, 5.28e-8),
    ],
)
def test_section_4_has_what_a_draw_adds(deviations: float, printed: float) -> None:
    shift = round(deviations * SIGMA)
    assert float(tau(0) + tau(shift)) == pytest.approx(printed, rel=0.005)
    stated = float(delta_of_draw(shift, epsilon=50.0))
    assert 0.999 * printed <= stated <= 1.25 * printed


@pytest.mark.parametrize(("epsilon", "printed"), [(1.0, 4.8e-15), (3.0, 2.7e-14), (5.0, 1.9e-13)])
def test_a_draw_adds_no_more_than_its_error_wherever_neighbours_are(
    epsilon: float, printed: float
) -> None:
    stated = float(delta_of_draw(10**9, epsilon))
    assert stated == pytest.approx((1.0 + exp(epsilon)) * 1.2777e-15, rel=1e-4)
    assert stated == pytest.approx(printed, rel=0.02)


def test_the_error_of_the_table_is_the_one_that_is_printed() -> None:
    assert float(tau(0)) == pytest.approx(1.28e-15, rel=0.005)
    assert np.flatnonzero(np.diff(table())).max() + 1 == 149_281


_NEAR = Decimal("1e-25")
TOYS = [Table(sigma, bits) for sigma, bits in product((3, 5), (6, 8, 10, 13, 16))]


def delta(one: dict[int, Decimal], shift: int, epsilon: float, draws: int) -> Decimal:
    """The exact delta at `epsilon` of draws from this law, each moved by `shift`."""
    with localcontext() as context:
        context.prec = DIGITS
        growth, none = Decimal(epsilon).exp(), Decimal(0)
        near = {x: p for x, p in one.items() if p > _NEAR}
        points = sorted({*near, *(x + shift for x in near)})
        pairs = [(near.get(x, none), near.get(x - shift, none)) for x in points]
        if draws == 1:
            return total_of(max(none, p - growth * q) for p, q in pairs)
        return total_of(
            max(none, p * r - growth * q * s) for (p, q), (r, s) in product(pairs, repeat=2)
        )


@pytest.mark.parametrize("toy", TOYS, ids=lambda toy: f"{toy.sigma}-{toy.bits}")
def test_no_toy_table_exceeds_what_is_said_by_exact_enumeration(toy: Table) -> None:
    for shift, epsilon in product((1, toy.sigma, 3 * toy.sigma), (0.1, 1.0, 3.0)):
        each = toy.distance + min(toy.tau(shift), Decimal(epsilon).exp() * toy.distance)
        for draws in (1, 2) if toy.sigma == 3 else (1,):
            ideal = delta(toy.ideal, shift, epsilon, draws)
            drawn = delta(toy.drawn, shift, epsilon, draws)
            assert drawn <= ideal + draws * each + Decimal("1e-20")


def test_coarse_tables_come_close_to_what_is_said() -> None:
    """The bound is not empty: the ideal delta alone is exceeded."""
    exceeded = 0
    for toy in TOYS:
        for epsilon in (0.1, 1.0, 3.0):
            ideal, drawn = (delta(law, toy.sigma, epsilon, 1) for law in (toy.ideal, toy.drawn))
            exceeded += drawn > ideal + toy.distance / 10
    assert exceeded >= 5
