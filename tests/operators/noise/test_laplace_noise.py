"""Turn a sensitivity and an epsilon into a grid and a charge, or refuse them."""

from fractions import Fraction
from math import expm1, inf, nan, sqrt

import pytest

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.noise.additive import BudgetBelowResolution
from fugu.operators.noise.discrete_laplace import TOTAL_VARIATION
from fugu.operators.noise.laplace import LaplaceNoise

RESOLUTION = 2.0**-24


def noise(epsilon: float, coordinates: int = 1, sensitivity: int = 1000) -> LaplaceNoise:
    return LaplaceNoise(sensitivity, epsilon, -(10**6), 10**6, coordinates)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 1e-3, 19.99])
@pytest.mark.parametrize("coordinates", [1, 7])
def test_steps_and_charge_follow_from_epsilon(epsilon: float, coordinates: int) -> None:
    ours = noise(epsilon, coordinates)
    s = ours.index_sensitivity
    assert s <= Fraction(epsilon) * 2**24 < s + 1
    assert ours.grid.step == Fraction(1000, s - coordinates + 1)
    assert Fraction(ours.charge, UNITS_PER_NAT) == Fraction(s, 2**24) <= Fraction(epsilon)
    assert ours.scale == 2**24 * ours.grid.step >= Fraction(1000) / Fraction(epsilon)


def test_ten_releases_of_a_tenth_cost_no_more_than_one_nat() -> None:
    assert 10 * noise(0.1).charge <= UNITS_PER_NAT


def test_a_unit_that_is_a_multiple_of_the_step_is_not_rounded() -> None:
    ours = noise(1.0, sensitivity=1024)
    assert (1 / ours.grid.step).denominator == 1


def test_deviation_and_delta_are_stated() -> None:
    ours = noise(0.5, coordinates=3)
    assert ours.standard_deviation == pytest.approx(sqrt(2.0) * 2000, rel=1e-6)
    assert ours.finite_precision_delta == pytest.approx((6 + expm1(0.5)) * TOTAL_VARIATION)
    assert noise(20.0).finite_precision_delta < 2e-10


@pytest.mark.parametrize("coordinates", [1, 5])
def test_an_epsilon_below_the_resolution_is_refused(coordinates: int) -> None:
    smallest = coordinates * RESOLUTION
    assert noise(smallest, coordinates).grid.step == 1000
    with pytest.raises(BudgetBelowResolution, match=r"^budget_below_resolution: epsilon: .* give"):
        noise(smallest * 0.999, coordinates)
    assert issubclass(BudgetBelowResolution, ValueError)


@pytest.mark.parametrize("coordinates", [1, 5])
def test_an_epsilon_close_to_the_resolution_has_a_warning(coordinates: int) -> None:
    comfortable = 100 * coordinates * RESOLUTION
    assert noise(comfortable, coordinates).warning is None
    warning = noise(comfortable * 0.999, coordinates).warning
    assert warning is not None
    assert "1.01 times" in warning


def test_the_warning_says_how_much_larger_the_noise_is() -> None:
    warning = noise(5 * RESOLUTION, coordinates=5).warning
    assert warning is not None
    assert "5 times" in warning


@pytest.mark.parametrize("epsilon", [0.0, -1.0, nan, inf, 20.1])
def test_an_impossible_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match=r"^epsilon: must be"):
        noise(epsilon)


@pytest.mark.parametrize("sensitivity", [0, -1, 2**63])
def test_an_impossible_sensitivity_is_refused(sensitivity: int) -> None:
    with pytest.raises(ValueError, match=r"^sensitivity: must be"):
        noise(1.0, sensitivity=sensitivity)


def test_no_coordinate_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^coordinates: must be"):
        noise(1.0, coordinates=0)


def test_a_range_that_does_not_fit_with_its_noise_is_refused() -> None:
    limit = 2**38 - 2**6
    assert LaplaceNoise(1, 1.0, 0, limit - 1).grid.upper == limit - 1
    with pytest.raises(ValueError, match="declare a smaller range"):
        LaplaceNoise(1, 1.0, 0, limit)
