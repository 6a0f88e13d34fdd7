"""The exact account of discrete Gaussian noise (Theorem 3): its figures, and that it is needed."""

from collections.abc import Iterator
from decimal import localcontext
from functools import reduce
from itertools import product
from math import gcd

import numpy as np
import pytest

from fugu.operators.mechanism import Floats
from fugu.operators.noise.gaussian import VARIANCE, delta_of_squares, squares_of
from fugu.operators.realtime.account import units_of_rho
from tests.operators.noise.theorem_3 import proved_delta
from tests.operators.realtime.epsilons import gaussian_delta, gaussian_total

PRINTED = {
    (0.1, 1e-6): (203663, 15.4),
    (0.5, 1e-6): (4134532, 13.8),
    (1.0, 1e-6): (15040158, 13.1),
    (3.0, 1e-6): (112621999, 11.8),
    (5.0, 1e-6): (279475847, 11.0),
    (10.0, 1e-6): (916866138, 9.9),
    (1.0, 1e-5): (19287462, 14.9),
    (1.0, 1e-7): (12262987, 11.6),
    (3.0, 1e-9): (71051057, 8.9),
}
"""Squared steps, and by how many percent variance is below that of zero-concentrated DP."""


@pytest.mark.parametrize(("budget", "printed"), PRINTED.items())
def test_squares_are_those_printed_to_the_integer(
    budget: tuple[float, float], printed: tuple[int, float]
) -> None:
    squares, saved = printed
    assert squares_of(*budget) == squares
    by_rho = units_of_rho(*budget) >> 11
    assert 100 * (1 - by_rho / squares) == pytest.approx(saved, abs=0.051)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-6, 0.1, 0.999])
def test_squares_are_the_most_that_keep_delta_less_one(epsilon: float, delta: float) -> None:
    squares = squares_of(epsilon, delta)
    assert delta_of_squares(squares + 1, epsilon) <= delta < delta_of_squares(squares + 2, epsilon)


@pytest.mark.parametrize(("epsilon", "delta"), PRINTED)
def test_squares_agree_with_an_account_in_doubles(epsilon: float, delta: float) -> None:
    assert squares_of(epsilon, delta) / VARIANCE == pytest.approx(
        gaussian_total(epsilon, delta), rel=1e-5
    )
    squares = squares_of(epsilon, delta)
    assert float(delta_of_squares(squares, epsilon)) == pytest.approx(
        gaussian_delta(squares / VARIANCE, epsilon), rel=1e-6
    )


def test_squares_do_not_depend_on_how_the_caller_counts() -> None:
    expected = squares_of(1.0, 1e-7)
    squares_of.cache_clear()
    with localcontext() as context:
        context.prec = 5
        assert squares_of(1.0, 1e-7) == expected == 12262987


def test_a_budget_that_pays_for_no_step_has_no_squares() -> None:
    assert squares_of(1e-5, 1e-12) == 0


def law(deviation: int) -> tuple[Floats, int]:
    """Return P(x) of the discrete Gaussian for |x| up to the number that is returned too."""
    reach = 14 * deviation
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2.0 * deviation**2))
    return weights / weights.sum(), reach


def exact_delta(deviation: int, shifts: tuple[int, ...], epsilon: float) -> float:
    """Return the delta of draws that neighbours move by these shifts: a sum over sums of draws."""
    (likely, reach), unit = law(deviation), gcd(*shifts)
    spread = []
    for shift in shifts:
        points = np.zeros(2 * reach * (shift // unit) + 1)
        points[:: shift // unit] = likely
        spread.append(points)
    together = reduce(np.convolve, spread)
    total = unit * (np.arange(len(together)) - len(together) // 2)
    loss = (sum(shift * shift for shift in shifts) - 2.0 * total) / (2.0 * deviation**2)
    return float((together * np.maximum(0.0, -np.expm1(epsilon - loss))).sum())


def cases() -> Iterator[tuple[int, tuple[int, ...], float]]:
    """Yield deviations, shifts and epsilons where delta is not too small for doubles."""
    of_deviations = product((2, 3, 4, 6, 8, 11, 16), (0.25, 0.5, 1.0, 1.5))
    for deviation, relative in of_deviations:
        shift = max(1, round(relative * deviation))
        for shifts in ((shift,), (shift, 1), (shift, shift, max(1, shift // 2))):
            for epsilon in (0.1, 0.5, 1.0, 3.0):
                if exact_delta(deviation, shifts, epsilon) > 1e-10:
                    yield deviation, shifts, epsilon


def test_the_formula_of_continuous_noise_promises_too_much_and_the_theorem_does_not() -> None:
    """By exact sums over all outputs, on coarse grids, where the difference shows."""
    found = list(cases())
    violated, worst = 0, 0.0
    for deviation, shifts, epsilon in found:
        delta = exact_delta(deviation, shifts, epsilon)
        plain = gaussian_delta(sum(shift**2 for shift in shifts) / deviation**2, epsilon)
        violated += delta > plain * (1.0 + 1e-7)
        worst = max(worst, delta / plain)
        assert delta <= proved_delta(deviation, shifts, epsilon) * (1.0 + 1e-7)
    assert len(found) > 300
    assert violated > len(found) // 2
    assert worst == pytest.approx(1.18, abs=0.005)


def test_at_the_deviation_of_releases_the_theorem_costs_next_to_nothing() -> None:
    """Section 4: 6000 steps at epsilon 1."""
    steps, epsilon = 6000, 1.0
    exact = exact_delta(2**14, (steps,), epsilon)
    assert exact == pytest.approx(5.70578829866e-4, rel=1e-8)
    assert float(delta_of_squares(steps**2, epsilon)) == pytest.approx(5.70578925e-4, rel=1e-9)
    assert gaussian_delta(steps**2 / 4**14, epsilon) < 5.70578925e-4
