"""Turn a sensitivity and a deviation into a grid and a zero-concentrated DP figure."""

from fractions import Fraction
from math import exp, fsum, inf, log, nan

import pytest

from fugu.operators.noise.additive import BudgetBelowResolution
from fugu.operators.noise.gaussian import GaussianNoise
from fugu.operators.noise.gaussian_table import delta_of_draw


def noise(deviation: float, coordinates: int = 1, sensitivity: int = 1000) -> GaussianNoise:
    return GaussianNoise(sensitivity, deviation, -(10**6), 10**6, coordinates)


@pytest.mark.parametrize("deviation", [100.0, 333.3, 1e5])
@pytest.mark.parametrize(("coordinates", "rounding"), [(1, 0), (2, 2), (4, 2), (5, 3), (10, 4)])
def test_steps_and_rho_follow_from_the_deviation(
    deviation: float, coordinates: int, rounding: int
) -> None:
    ours = noise(deviation, coordinates)
    s = ours.index_sensitivity
    assert s <= 2**14 * Fraction(1000) / Fraction(deviation) < s + 1
    assert ours.grid.step == Fraction(1000, s - rounding)
    assert ours.standard_deviation == 2**14 * ours.grid.step >= Fraction(deviation)
    assert (
        ours.rho
        == Fraction(s**2, 2 * 2**28)
        <= Fraction(1000) ** 2 / (2 * Fraction(deviation) ** 2)
    )


@pytest.mark.parametrize("order", [2, 3, 8])
def test_rho_is_the_renyi_divergence_of_shifted_noise(order: int) -> None:
    """[Canonne, Kamath, Steinke], Theorem 4, summed up at a deviation small enough for that."""
    deviation, shift = 16, 20
    rho = Fraction(shift**2, 2 * deviation**2)

    def exponent(k: int) -> float:
        return order * k**2 / (2 * deviation**2) - (order - 1) * (k - shift) ** 2 / (
            2 * deviation**2
        )

    total = fsum(exp(-(k**2) / (2 * deviation**2)) for k in range(-400, 401))
    moment = fsum(exp(-exponent(k)) for k in range(-600, 601)) / total
    assert log(moment) / (order - 1) == pytest.approx(order * float(rho), rel=1e-9)
    same_ratio = GaussianNoise(20, 16.0, 0, 20)
    assert same_ratio.rho == rho


def test_delta_is_stated() -> None:
    each = float(delta_of_draw(noise(500.0, 3).index_sensitivity, 1.0))
    assert noise(500.0, 3).finite_precision_delta(1.0) == pytest.approx(3 * each)


@pytest.mark.parametrize(("coordinates", "steps"), [(1, 1), (2, 3), (10, 5)])
def test_a_deviation_above_the_resolution_is_refused(coordinates: int, steps: int) -> None:
    largest = 2**14 * 1000 / steps
    assert noise(largest, coordinates).grid.step == 1000
    with pytest.raises(BudgetBelowResolution, match=r"^budget_below_resolution: dev.* at most"):
        noise(largest * 1.001, coordinates)


@pytest.mark.parametrize(("coordinates", "comfortable"), [(1, 100), (10, 400)])
def test_a_deviation_close_to_the_resolution_has_a_warning(
    coordinates: int, comfortable: int
) -> None:
    largest = 2**14 * 1000 / comfortable
    assert noise(largest, coordinates).warning is None
    warning = noise(largest * 1.001, coordinates).warning
    assert warning is not None
    assert "has 1.01 times" in warning


@pytest.mark.parametrize("deviation", [0.0, -1.0, nan, inf, 99.9])
def test_an_impossible_deviation_is_refused(deviation: float) -> None:
    with pytest.raises(ValueError, match=r"^deviation: must be"):
        noise(deviation)


@pytest.mark.parametrize("sensitivity", [0, -1, 2**63])
def test_an_impossible_sensitivity_is_refused(sensitivity: int) -> None:
    with pytest.raises(ValueError, match=r"^sensitivity: must be"):
        noise(500.0, sensitivity=sensitivity)


def test_no_coordinate_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^coordinates: must be"):
        noise(500.0, coordinates=0)


def test_a_range_that_does_not_fit_with_its_noise_is_refused() -> None:
    with pytest.raises(ValueError, match="declare a smaller range"):
        GaussianNoise(1, 1.0, 0, 2**48)
