"""Bounds below the sum of what releases let out, and zero-concentrated figures."""

from decimal import Decimal, localcontext
from math import inf, log, sqrt

import numpy as np
import pytest
from scipy.stats import norm

from fugu.operators.budget_units import in_nats, units_of
from fugu.operators.composition import (
    advanced,
    delta_of_zcdp,
    epsilon_of_zcdp,
    largest_window_sum,
)


def test_a_thousand_releases_leak_far_less_than_their_sum_with_high_probability() -> None:
    releases = [units_of(0.1)] * 1000
    assert in_nats(sum(releases)) == pytest.approx(100.0, abs=1e-8)
    assert round(advanced([0.1] * 1000, delta=0.05), 2) == 13.59


def test_the_smallest_delta_has_an_advanced_bound_too() -> None:
    assert 38.0 < advanced([0.01] * 10_000, delta=5e-324) < 40.0


def test_the_advanced_bound_is_never_above_the_sum() -> None:
    assert advanced([0.1] * 3, delta=1e-9) == pytest.approx(0.3)
    assert advanced([2.0], delta=0.5) == 2.0
    assert advanced([], delta=0.5) == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_the_advanced_bound_is_rounded_up_and_no_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    epsilons = rng.uniform(0.0, 0.2, 500).tolist()
    delta = float(10.0 ** -rng.uniform(1.0, 12.0))
    with localcontext() as context:
        context.prec = 50
        grown = [(Decimal(e), Decimal(e).exp()) for e in epsilons]
        drift = sum((e * (g - 1) / (g + 1) for e, g in grown), Decimal(0))
        squares = sum((e * e for e, _ in grown), Decimal(0))
        exact = drift + (2 * (2 / Decimal(delta)).ln() * squares).sqrt()
        assert exact <= Decimal(advanced(epsilons, delta)) <= exact * (1 + Decimal("2e-12"))


@pytest.mark.parametrize("window", [1, 2, 7, 60, 61, 1000])
def test_a_window_sum_is_that_of_the_dearest_window(window: int) -> None:
    charges = np.random.default_rng(window).integers(0, 2**62, 60).tolist()
    sums = [sum(charges[max(0, end - window) : end]) for end in range(1, 61)]
    assert largest_window_sum(charges, window) == max(sums)


def test_a_window_sum_never_wraps_around() -> None:
    assert largest_window_sum([2**62] * 8, window=8) == 2**65
    assert largest_window_sum([], window=3) == 0


SAVED = {
    0.1: (2.00, 1.64),
    0.5: (1.60, 1.42),
    1.0: (1.47, 1.34),
    2.0: (1.35, 1.27),
    5.0: (1.22, 1.18),
    10.0: (1.15, 1.13),
}
"""Variance that the tight conversion saves over the simple one, by epsilon, for two deltas."""


@pytest.mark.parametrize("epsilon", SAVED)
@pytest.mark.parametrize(("column", "delta"), [(0, 1e-5), (1, 1e-7)])
def test_section_5_has_what_the_tight_conversion_saves(
    epsilon: float, column: int, delta: float
) -> None:
    """To the printed digits; 1.22 is printed for 1.2254."""
    simple = (sqrt(log(1.0 / delta) + epsilon) - sqrt(log(1.0 / delta))) ** 2
    saved = SAVED[epsilon][column]
    assert epsilon_of_zcdp(simple * (saved - 0.0055), delta) <= epsilon
    assert epsilon_of_zcdp(simple * (saved + 0.0055), delta) >= epsilon


def test_section_5_has_epsilon_for_a_given_rho() -> None:
    assert round(epsilon_of_zcdp(0.05, delta=1e-5), 4) == 1.3081


@pytest.mark.parametrize("rho", [1e-6, 1e-3, 0.05, 0.5, 4.0])
def test_the_conversion_lies_between_the_exact_gaussian_and_the_simple_bound(rho: float) -> None:
    """One Gaussian release is rho-zCDP exactly, and its own delta is known."""
    mu = sqrt(2.0 * rho)
    for epsilon in (rho + np.linspace(0.0, 9.0, 40) * sqrt(rho)).tolist():
        gaussian = norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(
            -mu / 2 - epsilon / mu
        )
        simple = np.exp(-((epsilon - rho) ** 2) / (4.0 * rho))
        assert gaussian <= delta_of_zcdp(rho, epsilon) <= simple * (1.0 + 1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_the_conversion_is_rounded_up_and_by_less_than_a_billionth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rho = float(10.0 ** rng.uniform(-8.0, 2.0))
    epsilon = rho * float(rng.uniform(0.0, 2.0)) + float(rng.uniform(0.0, 8.0)) * sqrt(rho)
    exact = exact_delta(rho, epsilon)
    assert exact <= Decimal(delta_of_zcdp(rho, epsilon)) <= exact * (1 + Decimal("1e-9"))


def exact_delta(rho: float, epsilon: float) -> Decimal:
    """The minimum over alpha = 1 + beyond, in 50 digits."""
    with localcontext() as context:
        context.prec = 50
        r, e = Decimal(rho), Decimal(epsilon)
        low, high = Decimal("1e-30"), 1 + (e + 1) / (2 * r)
        for _ in range(120):
            middle = (low * high).sqrt()
            rises = (2 * middle + 1) * r - e - (1 + 1 / middle).ln() >= 0
            low, high = (low, middle) if rises else (middle, high)
        exponent = high * ((1 + high) * r - e)
        return (exponent - (1 + high).ln() - high * (1 + 1 / high).ln()).exp()


@pytest.mark.parametrize(("rho", "delta"), [(1e-9, 1e-3), (0.05, 1e-5), (2.0, 1e-30), (90.0, 0.5)])
def test_an_epsilon_keeps_its_delta_and_hardly_more_than_it_must(rho: float, delta: float) -> None:
    epsilon = epsilon_of_zcdp(rho, delta)
    assert delta_of_zcdp(rho, epsilon) <= delta
    assert epsilon == 0.0 or delta_of_zcdp(rho, epsilon * (1.0 - 1e-9)) > delta


def test_nothing_spent_is_nothing_learned() -> None:
    assert delta_of_zcdp(0.0, 0.0) == 0.0
    assert epsilon_of_zcdp(0.0, 1e-9) == 0.0


@pytest.mark.parametrize(
    ("rho", "epsilon"), [(5e-324, 0.0), (1e-300, 1e10), (1e300, 1.0), (1.0, 1e300), (0.01, 800.0)]
)
def test_numbers_beyond_all_bounds_claim_no_delta_of_zero(rho: float, epsilon: float) -> None:
    assert 0.0 < delta_of_zcdp(rho, epsilon) <= 1.0


@pytest.mark.parametrize("bad", [-1.0, inf, float("nan")])
def test_what_is_not_an_amount_is_refused_by_its_name(bad: float) -> None:
    with pytest.raises(ValueError, match="rho: "):
        delta_of_zcdp(bad, 1.0)
    with pytest.raises(ValueError, match="epsilon: "):
        delta_of_zcdp(1.0, bad)
    with pytest.raises(ValueError, match="epsilons: "):
        advanced([1.0, bad], 0.1)


@pytest.mark.parametrize("bad", [0.0, 1.0, float("nan")])
def test_a_delta_is_a_probability(bad: float) -> None:
    with pytest.raises(ValueError, match="delta: "):
        epsilon_of_zcdp(1.0, bad)
    with pytest.raises(ValueError, match="delta: "):
        advanced([1.0], bad)


def test_a_window_has_a_position() -> None:
    with pytest.raises(ValueError, match="window: "):
        largest_window_sum([1], 0)
