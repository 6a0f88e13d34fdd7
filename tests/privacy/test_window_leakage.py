"""w-event strategies keep their word on every path of releases of one bin, over three ticks.

The largest log-likelihood ratio is exact but for the law of the noise, which is taken as stated. A
release beyond the range that is followed tells values apart by the same ratio as one at its end,
and the states after it differ only in how far the last release is away; what is left out is small.
"""

from functools import cache
from math import log

import pytest

from fugu.operators.wevent.pba import PrivacyBudgetAllocation, Schedule
from fugu.operators.wevent.rescue_dp import RescueDp
from fugu.operators.wevent.spread_strategies import (
    BudgetAbsorption,
    BudgetDistribution,
    Sample,
    Uniform,
)
from fugu.operators.wevent.strategy import Strategy
from tests.privacy.step_laws import UNITS
from tests.privacy.window_paths import Paths, follow

EPSILON, WINDOW, TICKS = 4.0, 2, 3
LOWEST, HIGHEST = -9, 11
TAIL = 1e-2
FLAGGED = Schedule((False, True))


def strategies(sensitivity: int) -> dict[str, Strategy]:
    parameters = (1, WINDOW, EPSILON, sensitivity)
    return {
        "uniform": Uniform(*parameters),
        "sample": Sample(*parameters),
        "budget_distribution": BudgetDistribution(*parameters),
        "budget_absorption": BudgetAbsorption(*parameters),
        "pba": PrivacyBudgetAllocation(*parameters, flags=FLAGGED),
    }


SUPREMA = {
    "uniform": 1.0,
    "sample": 1.0,
    "budget_distribution": 7 / 8,
    "budget_absorption": 1.0,
    "pba": 13 / 16,
}
"""Shares of epsilon that the publications and decisions of a window cost at most."""


@cache
def paths(kind: str) -> Paths:
    """With the noise for a sensitivity of 1."""
    return follow(strategies(sensitivity=1)[kind], (0, 1, 2), TICKS, LOWEST, HIGHEST)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SUPREMA)
def test_no_path_tells_neighbours_apart_by_more_than_epsilon_and_some_by_all_that_is_spent(
    kind: str,
) -> None:
    followed = paths(kind)
    assert followed.tail < TAIL
    largest = followed.largest_ratio(WINDOW, most=1)
    assert largest <= EPSILON * (1 + 1e-9)
    assert largest == pytest.approx(SUPREMA[kind] * EPSILON, rel=1e-6)


@pytest.mark.parametrize("kind", SUPREMA)
def test_noise_for_a_smaller_sensitivity_than_the_true_one_breaks_the_claim(kind: str) -> None:
    """People who change bins move counts by 2: twice as much leaks as with the right noise."""
    largest = paths(kind).largest_ratio(WINDOW, most=2)
    assert largest > 1.2 * EPSILON
    assert largest == pytest.approx(2 * SUPREMA[kind] * EPSILON, rel=1e-6)


@pytest.mark.parametrize("kind", ["budget_distribution", "pba"])
def test_noise_for_the_true_sensitivity_keeps_it(kind: str) -> None:
    strategy = strategies(sensitivity=2)[kind]
    followed = follow(strategy, (0, 2), ticks=2, lowest=-30, highest=32)
    assert followed.tail < TAIL
    assert followed.largest_ratio(WINDOW, most=2) <= EPSILON * (1 + 1e-9)


def test_rescue_dp_keeps_it_whatever_its_controller_does() -> None:
    """The first two ticks spend most; after them, the interval depends on what was released."""
    strategy = RescueDp(1, WINDOW, epsilon=12.0, sensitivity=1)
    followed = follow(strategy, (0, 1, 2), TICKS, LOWEST, HIGHEST)
    assert followed.tail < TAIL
    share = log(2.0) / 5
    largest = followed.largest_ratio(WINDOW, most=1)
    assert largest == pytest.approx((share + share * (1 - share)) * 12.0, rel=1e-4)
    assert largest <= strategy.rule.most / UNITS <= 12.0
    assert followed.largest_ratio(WINDOW, most=2) == pytest.approx(2 * largest, rel=1e-6)


def test_more_than_a_window_is_not_covered() -> None:
    """Three ticks that differ leak more than two do."""
    assert paths("uniform").largest_ratio(TICKS, most=1) > 1.4 * EPSILON
