"""Schedules spend as much as they may and never more, in whole numbers."""

from fractions import Fraction

import numpy as np
import pytest

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.noise.gaussian import GaussianNoise
from fugu.operators.realtime.schedule import (
    RHO_OF_STEP,
    Schedule,
    constant,
    decaying,
    falling,
    in_shares,
)

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
