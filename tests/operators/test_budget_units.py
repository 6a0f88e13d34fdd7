"""Budgets in units of 2^-40 nat: never charged too little, never by chance, the same everywhere."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.operators.budget_units import (
    LARGEST_CHARGE,
    LARGEST_SPENT,
    add_spent,
    charge_of_exact_ratio,
    charge_of_ratio,
    exact_exp,
    exact_expm1,
    in_nats,
    units_of,
)
from fugu.operators.mechanism import Floats

UNIT = Decimal(2) ** -40
MARGIN = Decimal(2) ** -44


def overcharges(ratios: Floats) -> list[Decimal]:
    """Return how many nats each charge is above ln(ratio), in 50 digits."""
    with localcontext() as context:
        context.prec = 50
        return [
            int(charge) * UNIT - Decimal(float(ratio)).ln()
            for ratio, charge in zip(ratios, charge_of_ratio(ratios), strict=True)
        ]


def around_unit_boundaries(largest_nats: float) -> Floats:
    """The four doubles around e^(k units) for many k, where rounding up just begins or ends."""
    rng = np.random.default_rng(17)
    found = []
    with localcontext() as context:
        context.prec = 50
        for k in rng.uniform(0.0, largest_nats, 100) * 2.0**40:
            below = np.nextafter(float((int(k) * UNIT).exp()), 0.0)
            for _ in range(4):
                found.append(max(1.0, below))
                below = np.nextafter(below, inf)
    return np.array(found)


@given(st.integers(1, 2**64), st.integers(1, 2**64))
def test_the_charge_of_a_rational_ratio_is_rounded_up_to_the_next_unit(a: int, b: int) -> None:
    ratio = Fraction(max(a, b), min(a, b))
    with localcontext() as context:
        context.prec = 80
        above = charge_of_exact_ratio(ratio) * UNIT - (Decimal(max(a, b)) / min(a, b)).ln()
    assert 0 <= above < UNIT


def test_a_ratio_barely_above_one_costs_a_unit() -> None:
    assert charge_of_exact_ratio(Fraction(2**64, 2**64 - 1)) == 1


@pytest.mark.parametrize("largest", [1e-11, 1e-6, 0.1, 1.0, 10.0, 50.0, 300.0, 709.0])
def test_a_charge_is_never_below_the_logarithm_and_hardly_above(largest: float) -> None:
    above = overcharges(around_unit_boundaries(largest))
    assert min(above) >= 0
    assert max(above) < UNIT + MARGIN


def test_a_charge_is_right_for_every_power_of_two() -> None:
    above = overcharges(np.ldexp(np.ones(1024), np.arange(1024)))
    assert min(above) >= 0
    assert max(above) < UNIT + MARGIN


def test_the_smallest_ratio_above_one_costs_a_unit_and_one_costs_nothing() -> None:
    smallest = np.nextafter(1.0, 2.0)
    assert charge_of_ratio(np.array([1.0, smallest, 0.5, 0.0])).tolist() == [0, 1, 0, 0]


def test_an_infinite_leakage_saturates() -> None:
    assert charge_of_ratio(np.array([inf, nan])).tolist() == [LARGEST_CHARGE] * 2
    largest = np.array([np.finfo(float).max])
    assert charge_of_ratio(largest).item() == 780414346020670  # 709.78 nats


def test_a_ledger_saturates_and_never_wraps_around() -> None:
    spent = np.array([0, LARGEST_SPENT - 1, LARGEST_SPENT], dtype=np.int64)
    for _ in range(5):
        before = spent
        spent = add_spent(spent, np.full(3, 2 * LARGEST_CHARGE, dtype=np.int64))
        assert (spent >= before).all()
        assert (spent <= LARGEST_SPENT).all()
    assert spent.tolist() == [LARGEST_SPENT] * 3
    assert add_spent(np.array([3]), np.array([4])).tolist() == [7]


def test_a_charge_is_the_same_alone_and_among_others() -> None:
    ratios = np.exp(np.random.default_rng(1).uniform(0, 20, 257))
    together = charge_of_ratio(ratios)
    assert together.dtype == np.int64
    assert [charge_of_ratio(ratios[i : i + 1]).item() for i in range(257)] == together.tolist()


def test_declared_nats_are_rounded_up_exactly() -> None:
    assert units_of(1.0) == 2**40
    assert units_of(2.0**-41) == 1
    assert units_of(0.1) == 109951162778
    assert in_nats(2**39) == 0.5
    with localcontext() as context:
        context.prec = 50
        for nats in np.random.default_rng(2).uniform(0, 50, 200):
            assert 0 <= units_of(float(nats)) * UNIT - Decimal(float(nats)) < UNIT


def correctly_rounded(computed: float, exact: Decimal) -> bool:
    """Return whether no neighbouring double is nearer to `exact`."""
    neighbours = [computed, float(np.nextafter(computed, inf)), float(np.nextafter(computed, -inf))]
    return min(neighbours, key=lambda double: abs(Decimal(double) - exact)) == computed


def test_exponentials_are_correctly_rounded() -> None:
    with localcontext() as context:
        context.prec = 100
        for nats in [*np.random.default_rng(3).uniform(1e-9, 50, 500), 1e-12, 1.0, 50.0]:
            exact = Decimal(float(nats)).exp()
            assert correctly_rounded(exact_exp(float(nats)), exact)
            assert correctly_rounded(exact_expm1(float(nats)), exact - 1)
