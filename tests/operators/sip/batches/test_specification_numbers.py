"""The numbers that section 8 of the SIP specification prints, and a few of section 10."""

import numpy as np
import pytest

from fugu.operators.sip.batches.batch_plan import BatchPlan
from fugu.operators.sip.batches.walk import Walk
from fugu.operators.sip.distances import HAMMING, Ordered
from fugu.operators.sip.markov_model import MarkovModel
from tests.operators.sip.batches.batched_chain import CELLS, COLUMNS, Cell, measure_batches
from tests.operators.sip.batches.configured import Make, grouped, likely, single
from tests.privacy.chains import binary

STEPS = 600
"""40 sequences of it: the standard error is about 0.004."""

STICKY = Cell(2, 1.0, COLUMNS[0])
"""Its belief wanders, so that many linear programs are solved."""

APART = np.abs(np.arange(10)[:, None] - np.arange(10))
WALK = MarkovModel.smoothed(
    np.full(10, 0.1), np.exp(-APART) / np.exp(-APART).sum(axis=1, keepdims=True), smoothing=0.0
)


def error_per_symbol(plan: BatchPlan, make: Make) -> float:
    law = make(plan).law(plan.walk.model.prior[:, None], np.zeros(1))
    return float(law.cost[0]) / plan.window


@pytest.mark.parametrize(
    ("stays", "window", "epsilon", "printed"),
    [(0.9, 2, 2.0, 0.111), (0.9, 3, 3.0, 0.028), (0.9, 2, 4.0, 0.009), (0.5, 2, 2.0, 0.068)],
)
def test_the_exact_program_has_the_error_of_section_8(
    stays: float, window: int, epsilon: float, printed: float
) -> None:
    plan = BatchPlan(Walk(binary(stays, first=0.5)), window, epsilon, HAMMING, "linear_program")
    (algorithm,) = plan.algorithms
    error = float(algorithm.law(plan.walk.model.prior[:, None], np.zeros(1)).cost[0]) / window
    assert error == pytest.approx(printed, abs=5.1e-4)


def walk(window: int) -> BatchPlan:
    return BatchPlan(Walk(WALK), window, float(window), Ordered(), "linear_program")


def coarse(most: int) -> Make:
    return lambda plan: grouped(plan, "linear_program", most)


@pytest.mark.parametrize(
    ("window", "make", "printed"),
    [
        (2, single, 1.47),
        (2, coarse(16), 1.040),
        (2, coarse(25), 1.003),
        (2, coarse(36), 0.939),
        (2, likely, 1.031),
        (3, single, 1.35),
        (3, coarse(27), 0.969),
        (3, likely, 0.694),
        (4, likely, 0.591),
    ],
)
def test_a_random_walk_is_released_about_as_well_as_in_section_8_or_better(
    window: int, make: Make, printed: float
) -> None:
    """Groups, representatives and k are heuristics: the specification's own may differ by 2 %."""
    assert error_per_symbol(walk(window), make) <= 1.02 * printed


def test_two_steps_of_a_random_walk_are_best_released_by_the_exact_program() -> None:
    assert error_per_symbol(walk(2), coarse(100)) == pytest.approx(0.800, abs=1e-3)


@pytest.mark.parametrize("window", [2, 3, 4])
def test_the_plan_takes_the_cheapest_of_its_algorithms(window: int) -> None:
    plan = walk(window)
    belief = np.stack([WALK.prior, WALK.transition[0], WALK.transition[5]], axis=1)
    exact = np.zeros(3)
    costs = [algorithm.law(belief, exact).cost for algorithm in plan.algorithms]
    least = np.min(costs, axis=0)
    for part in plan.parts(belief, exact):
        assert part.law.cost == pytest.approx(least[part.rows], abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "cell",
    [cell for cell in CELLS if (cell.case, cell.epsilon) == (1, 1.0) or cell == STICKY],
    ids=lambda cell: f"case {cell.case}, {cell.column.name}",
)
def test_the_long_run_error_is_that_of_section_10(cell: Cell) -> None:
    measured = measure_batches(cell, steps=STEPS, seed=40)
    assert measured.agrees_with(cell.printed, STEPS)
    assert measured.leakage <= cell.column.epsilon_per_batch(cell.epsilon) + 1e-9
