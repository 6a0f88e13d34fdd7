"""The zCDP that a budget pays for: the figures of section 5 of the specification, and safe."""

from decimal import localcontext
from math import sqrt

import pytest

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.realtime.accountants import paper_total
from fugu.operators.realtime.zcdp import units_of_rho
from tests.operators.realtime.epsilons import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_total,
    paper_epsilon,
)
from tests.operators.realtime.zcdp_conversion import delta_of_zcdp, epsilon_of_zcdp

SAVINGS = {
    (0.1, 1e-5): (2.45, 2.00),
    (0.1, 1e-7): (1.89, 1.64),
    (0.5, 1e-5): (1.90, 1.60),
    (0.5, 1e-7): (1.62, 1.42),
    (1.0, 1e-5): (1.73, 1.47),
    (1.0, 1e-7): (1.52, 1.34),
    (2.0, 1e-5): (1.57, 1.35),
    (2.0, 1e-7): (1.43, 1.27),
    (5.0, 1e-5): (1.40, 1.22),
    (5.0, 1e-7): (1.31, 1.18),
    (10.0, 1e-5): (1.29, 1.15),
    (10.0, 1e-7): (1.24, 1.13),
}
"""The printed noise variance by the bound of the paper over that of the exact account, and of the
zCDP account, by epsilon and delta."""


def total(epsilon: float, delta: float) -> float:
    return 2 * units_of_rho(epsilon, delta) / UNITS_PER_NAT


@pytest.mark.parametrize(("budget", "printed"), SAVINGS.items())
def test_savings_over_the_bound_of_the_paper_are_those_printed(
    budget: tuple[float, float], printed: tuple[float, float]
) -> None:
    exact, ours = gaussian_total(*budget), total(*budget)
    paper = paper_total(*budget)
    assert exact / paper == pytest.approx(printed[0], abs=0.0051)
    assert ours / paper == pytest.approx(printed[1], abs=0.0055)
    assert paper < ours < exact


def test_totals_and_epsilons_are_those_printed() -> None:
    assert paper_total(1.0, 1e-7) == pytest.approx(0.0300945, rel=2e-6)
    assert gaussian_total(1.0, 1e-7) == pytest.approx(0.0456832, rel=2e-6)
    assert paper_total(10.0, 1e-7) == pytest.approx(2.40178, rel=2e-6)
    assert gaussian_total(10.0, 1e-7) == pytest.approx(2.97699, rel=2e-6)
    assert paper_epsilon(0.1, 1e-5) == pytest.approx(1.5674, abs=5e-5)
    assert epsilon_of_zcdp(0.05, 1e-5) == pytest.approx(1.3081, abs=5e-5)
    assert gaussian_epsilon(0.1, 1e-5) == pytest.approx(1.1994, abs=5e-5)
    assert gaussian_epsilon(0.250025, 1e-7) == pytest.approx(2.490, abs=5e-4)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-7, 1e-3, 0.1])
def test_a_budget_is_the_largest_whose_tight_conversion_keeps_delta(
    epsilon: float, delta: float
) -> None:
    """The conversion in doubles, rounded up, was written before and otherwise."""
    units = units_of_rho(epsilon, delta)
    assert delta_of_zcdp(units / UNITS_PER_NAT, epsilon) <= delta * (1 + 1e-9)
    assert delta_of_zcdp((units * (1 + 1e-7) + 2) / UNITS_PER_NAT, epsilon) > delta


def test_accounts_invert_each_other() -> None:
    for epsilon, delta in SAVINGS:
        assert paper_epsilon(paper_total(epsilon, delta), delta) == pytest.approx(epsilon)
        assert gaussian_epsilon(gaussian_total(epsilon, delta), delta) == pytest.approx(epsilon)
        assert gaussian_delta(gaussian_total(epsilon, delta), epsilon) == pytest.approx(delta)


def test_a_budget_does_not_depend_on_how_the_caller_counts() -> None:
    expected = units_of_rho(1.0, 1e-7)
    units_of_rho.cache_clear()
    with localcontext() as context:
        context.prec = 5
        assert units_of_rho(1.0, 1e-7) == expected == 22195986851


def test_the_usual_formula_for_one_release_fails_beyond_an_epsilon_of_1() -> None:
    """sigma = sqrt(2 ln(1.25 / delta)) / epsilon is not offered: it promises too much."""
    delta, epsilon = 0.1, 10.0
    deviation = sqrt(2 * 2.5257286443082556) / epsilon
    assert gaussian_delta(deviation**-2, epsilon) > 1.5 * delta
