"""Prices that are measured on the real step are those that strategies are known to take."""

import numpy as np
import pytest

from fugu.operators.auditing.noise_as_drawn import prices
from fugu.operators.auditing.steps_as_drawn import steps_of
from fugu.operators.mechanism import State
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.wevent.binary_tree import BinaryTree
from fugu.operators.wevent.pba import PrivacyBudgetAllocation
from fugu.operators.wevent.spread_strategies import (
    BudgetAbsorption,
    BudgetDistribution,
    Sample,
    Uniform,
)
from fugu.operators.wevent.strategy import Strategy
from tests.thinned import first_in_test

EPSILON, WINDOW = 1.0, 4
TICKS = np.arange(2 * WINDOW + 2)


@pytest.mark.parametrize(
    ("kind", "share"),
    [
        (Uniform, 1.0),
        (Sample, 1.0),
        (BudgetDistribution, 1 - 2**-5),
        (BudgetAbsorption, 1.0),
        (PrivacyBudgetAllocation, 0.5 + 15 / 64),
    ],
)
@pytest.mark.parametrize("sensitivity", first_in_test([1, 2], 1))
def test_the_dearest_window_costs_what_its_rule_spends(
    kind: type[Strategy], share: float, sensitivity: int
) -> None:
    measured = prices(kind(2, WINDOW, EPSILON, sensitivity), 2, TICKS, paths=64)
    assert measured.public
    dearest = sensitivity * measured.of_windows(WINDOW).max()
    assert dearest == pytest.approx(share * EPSILON, rel=1e-9)


def test_a_block_of_a_tree_costs_its_part_whenever_it_is_closed() -> None:
    tree = BinaryTree(1, 1, EPSILON, 1, horizon=4)
    measured = prices(tree, 1, np.arange(6), paths=2, exact=("sums",))
    assert measured.publication[:, 0] == pytest.approx([EPSILON / 3] * 4 + [0.0] * 2, rel=1e-9)


def test_true_figures_in_a_state_are_noticed_unless_they_are_there_on_purpose() -> None:
    tree = BinaryTree(1, 1, EPSILON, 1, horizon=4)
    assert not prices(tree, 1, np.arange(2), paths=2).public


def test_a_state_that_is_lost_between_ticks_makes_windows_dearer() -> None:
    strategy = BudgetDistribution(2, WINDOW, EPSILON, 1)

    def begun_anew(state: State, number: int) -> State:
        return strategy.start(len(state["tick"]))

    measured = prices(strategy, 2, TICKS, paths=8, between=begun_anew)
    assert measured.of_windows(WINDOW).max() == pytest.approx(0.5 + WINDOW / 4, rel=1e-9)


@pytest.mark.parametrize("weight", [None, 0.5, 1.0])
@pytest.mark.parametrize("changed", [1, 2])
def test_steps_of_real_time_release_are_those_of_its_schedule(
    weight: float | None, changed: int
) -> None:
    release = RealTimeRelease(2, 7, changed, 3.0, 1e-6, horizon=5, weight=weight)
    measured = steps_of(release, 8)
    assert measured.public
    assert measured.steps.tolist() == [release.schedule.first] * 5 + [0] * 3
