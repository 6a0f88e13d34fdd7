"""The delta that is declared holds with what finite precision adds to it, or it is refused."""

from decimal import localcontext
from fractions import Fraction
from functools import partial
from itertools import product
from math import exp, sqrt
from typing import Any

import numpy as np
import pytest

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.noise.additive import BudgetBelowResolution
from fugu.operators.noise.gaussian import GaussianNoise
from fugu.operators.noise.gaussian_table import delta_of_draw
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.realtime.account import (
    RHO_OF_STEP,
    Schedule,
    account_of,
    constant,
    decaying,
    exact_budget,
    falling,
    in_shares,
    paper_total,
    units_of_rho,
)
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.realtime.real_time_release import RealTimeRelease
from tests.operators.realtime.epsilons import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_total,
    paper_epsilon,
)
from tests.operators.realtime.zcdp_conversion import delta_of_zcdp, epsilon_of_zcdp

SHARED: list[dict[str, Any]] = [
    {"horizon": 1},
    {"horizon": 100},
    {"horizon": 10**6},
    {"period": 1000},
    {"decay": 0.99},
    {"horizon": 1000, "shares": (1.0, 4.0, 9.0)},
]


@pytest.mark.parametrize("shared", SHARED, ids=str)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-5), (3.0, 1e-6), (20.0, 1e-6)])
def test_what_is_promised_includes_finite_precision(
    shared: dict[str, Any], epsilon: float, delta: float
) -> None:
    """The sum of Theorem 4 over all values that the schedule can measure, counted by walking it."""
    release = RealTimeRelease(2, 1, 2, epsilon, delta, **shared)
    measured, spent, added = 0, 0, Fraction(0)
    most = shared.get("period", shared.get("horizon", 10**7))
    while measured < most:
        steps = release.schedule.steps(np.array([measured]))
        charge = int(release.schedule.charges(steps)[0])
        if not charge or spent + charge > release.budget:
            break
        more = 1
        if release.schedule.lasts is None:
            more = min(release.budget // charge, most) - measured
        added += 2 * more * delta_of_draw(int(steps[0]), epsilon)
        measured, spent = measured + more, spent + more * charge
    assert measured == release.account.values
    assert added <= release.account.reserved
    ideal = Fraction(delta) - added
    assert release.budget <= exact_budget(epsilon, float(ideal) * (1.0 + 1e-15))
    [promise] = release.guarantees()
    assert (promise.delta, promise.total_delta) == (delta, delta)


@pytest.mark.parametrize(("horizon", "stated"), [(100, 2.27e-4), (10**6, 1.0)])
def test_a_horizon_whose_bound_over_all_shifts_is_far_above_delta_fits_into_it(
    horizon: int, stated: float
) -> None:
    """The bound that was stated per release, e = 4.68e-15, over all values; and what is reserved
    for those shifts that one person can cause."""
    assert min(1.0, (1.0 + exp(20.0)) * 4.68e-15 * horizon) == pytest.approx(stated, rel=0.01)
    audit = LocalRealTimeRelease(0, 1, 20.0, 1e-6, horizon=horizon).audit()
    reserved = audit["delta of finite precision, part of delta"]
    assert isinstance(reserved, float)
    assert 0.0 < reserved < 1e-8


@pytest.mark.parametrize(
    ("delta", "horizon"), [(2e-15, 1), (1e-13, 100), (2e-9, 10**6), (1e-8, 10**7)]
)
def test_a_delta_below_what_finite_precision_adds_is_refused(delta: float, horizon: int) -> None:
    with pytest.raises(ValueError, match=r"^delta: .* does not cover what finite precision adds"):
        RealTimeRelease(1, 1, 1, 5.0, delta, horizon=horizon)
    enough = RealTimeRelease(1, 1, 1, 5.0, 50 * delta, horizon=horizon)
    assert enough.account.reserved < Fraction(50 * delta)


def test_bike_share_needs_hardly_anything() -> None:
    """Section 4: 40 draws at a tenth of a deviation add 1.1e-13."""
    assert float(40 * delta_of_draw(1638, 3.0)) == pytest.approx(1.1e-13, rel=0.05)


@pytest.mark.parametrize("changed", [1, 2])
def test_an_account_is_the_best_one_within_a_sixtieth_of_what_it_reserves(changed: int) -> None:
    shares = [
        partial(constant, changed=changed, number=50),
        partial(decaying, changed=changed, decay=0.9),
        partial(in_shares, changed=changed, number=50, shares=(1.0, 2.0)),
    ]
    for share, epsilon in product(shares, (0.1, 5.0)):
        account = account_of(epsilon, 1e-6, share=share)
        rest = float(Fraction(1e-6) - account.reserved)
        assert account.budget == exact_budget(epsilon, rest)
        assert account.reserved < Fraction(1, 10**9)


def test_a_schedule_without_a_value_is_refused_as_such() -> None:
    with pytest.raises(BudgetBelowResolution, match="pay for no measurement"):
        account_of(0.01, 1e-6, share=partial(constant, changed=1, number=10**9))


def test_delta_covers_draws_that_signed_amounts_move_by_twice_their_steps() -> None:
    """Neighbours take a figure from the largest amount to its opposite in one draw."""
    cap = PersonalCap(at_most=1, ticks=100, signed=True)
    release = RealTimeRelease(1, 1, 1, epsilon=20.0, delta=1e-6, personal_cap=cap)
    assert release.account.reserved >= delta_of_draw(2 * release.schedule.first, 20.0)


# Schedules spend as much as they may and never more, in whole numbers.


BUDGET = 10**12


def cost(schedule: Schedule, values: int) -> int:
    return int(schedule.charges(schedule.steps(np.arange(values))).sum())


@pytest.mark.parametrize("steps", [1, 4, 64, 2**17])
def test_a_charge_is_the_rho_of_the_noise_exactly(steps: int) -> None:
    noise = GaussianNoise(1, 2.0**14 / steps, 0, 1)
    charge = int(Schedule(np.array([steps]), changed=1).charges(np.array([steps]))[0])
    assert Fraction(charge, UNITS_PER_NAT) == noise.rho


@pytest.mark.parametrize("changed", [1, 2, 7])
@pytest.mark.parametrize("number", [1, 10, 999])
def test_equal_parts_use_up_the_budget_but_for_one_step_of_precision(
    changed: int, number: int
) -> None:
    schedule = constant(BUDGET, changed, number)
    finer = Schedule(schedule.table + 1, changed)
    assert cost(schedule, number) <= BUDGET < cost(finer, number)
    assert schedule.lasts is None


@pytest.mark.parametrize("decay", [0.01, 0.5, 0.9, 0.99, 0.999])
def test_parts_that_get_smaller_never_add_up_to_more_than_the_budget(decay: float) -> None:
    schedule = decaying(BUDGET, 2, decay)
    assert schedule.lasts is not None
    everything = cost(schedule, schedule.lasts + 100)
    assert everything == cost(schedule, schedule.lasts)
    assert everything <= BUDGET
    assert everything > BUDGET * (0.99 if decay < 0.999 else 0.9)


def test_the_price_of_an_infinite_horizon_is_the_one_printed() -> None:
    """r = 0.99 and a first deviation of 20: S = 0.250025, whatever follows."""
    first = 2**14 // 20
    rate = Fraction(99, 100)
    total = (2 + rate**2 / (1 - rate)) / 20**2
    assert float(total) == pytest.approx(0.250025, rel=1e-9)
    schedule = decaying(int(total / 2 * UNITS_PER_NAT), 1, 0.99)
    assert schedule.first == pytest.approx(first, abs=1)
    everything = cost(schedule, 10**4)
    assert 2 * everything / UNITS_PER_NAT == pytest.approx(0.250025, rel=0.01)


@pytest.mark.parametrize("shares", [(1.0,), (1.0, 4.0), (0.1, 0.25, 3.0, 1e-3)])
@pytest.mark.parametrize("number", [4, 7, 1000])
def test_values_that_take_shares_in_turn_never_spend_more_than_the_budget(
    shares: tuple[float, ...], number: int
) -> None:
    schedule = in_shares(BUDGET, 2, number, shares)
    assert schedule.lasts == number
    assert BUDGET * 0.9 < cost(schedule, number + 100) <= BUDGET
    charges = schedule.charges(schedule.steps(np.arange(number)))
    turn = np.array(shares)[np.arange(number) % len(shares)]
    assert charges / charges[0] == pytest.approx(turn / turn[0], rel=0.05)


def test_the_variance_of_noise_grows_by_the_decay() -> None:
    steps = decaying(BUDGET, 1, 0.98).steps(np.arange(200)).astype(float)
    assert steps[0] == steps[1]
    assert (steps[:100] / steps[0]) ** 2 == pytest.approx(
        np.array([1.0, *0.98 ** np.arange(1, 100)])[[0, 0, *range(2, 100)]], rel=0.01
    )


def test_what_is_too_little_for_one_step_measures_nothing() -> None:
    assert constant(RHO_OF_STEP * 20 - 1, 2, 10).first == 0
    assert constant(RHO_OF_STEP * 20, 2, 10).first == 1
    assert decaying(RHO_OF_STEP, 1, 0.5).steps(np.arange(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize(("ticks", "even", "fallen"), [(312, 220.97, 208.49), (1000, 707.5, 667.2)])
def test_totals_err_least_with_falling_shares(ticks: int, even: float, fallen: float) -> None:
    """Section 5 of the continual release specification, in units of the noise of one value."""

    def error(schedule: Schedule) -> float:
        steps = schedule.steps(np.arange(ticks)).astype(float)
        return float(np.sqrt(np.cumsum(budget / steps**2).mean()))

    units = 2**50
    budget = units / RHO_OF_STEP
    assert error(constant(units, 1, ticks)) == pytest.approx(even, rel=1e-3)
    assert error(in_shares(units, 1, ticks, falling(ticks))) == pytest.approx(fallen, rel=1e-3)


# The zCDP that a budget pays for: the figures of section 5 of the specification, and safe.


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
