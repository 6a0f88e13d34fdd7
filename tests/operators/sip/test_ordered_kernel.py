"""The proposal for ordered symbols: its distances, and how near it is to the best possible law."""

from math import exp, expm1

import numpy as np
import pytest

from operators.mechanism import Floats
from operators.sip.distances import Distance, Ordered
from operators.sip.ordered_kernel import OrderedKernel
from tests.operators.sip import dense
from tests.operators.sip.beliefs import uniform
from tests.operators.sip.choices import HEURISTIC, Choices
from tests.operators.sip.linear_program import least_cost

ORDERED = HEURISTIC["ordered"]


def cost(belief: Floats, epsilon: float, choices: Choices, distance: Distance) -> float:
    law = dense.matrix(dense.law_of(choices, belief[:, None], epsilon))
    return float(dense.expected_distance(belief[:, None], law, distance.table(len(belief)))[0])


@pytest.mark.parametrize(
    ("distance", "symbols", "mean_gap", "beliefs"),
    [
        ("ordered", 2, 0.0, 20),
        ("ordered", 4, 0.003, 20),
        ("ordered", 8, 0.027, 20),
        *(
            pytest.param(distance, symbols, gap, 60, marks=pytest.mark.acceptance)
            for distance, gaps in {
                "ordered": {2: 0.0, 4: 0.003, 8: 0.027, 12: 0.034},
                "hamming": {2: 0.0, 4: 0.0007, 8: 0.0016, 12: 0.0003},
            }.items()
            for symbols, gap in gaps.items()
        ),
    ],
)
def test_the_gap_to_the_best_possible_law_is_that_of_the_specification(
    distance: str, symbols: int, mean_gap: float, beliefs: int
) -> None:
    """Table 3.5, whose beliefs are not stated; 4 standard errors of this sample and of its 60."""
    rng = np.random.default_rng(35)
    measured = Choices(distance).distance_of(symbols)
    gaps = []
    for _ in range(beliefs):
        epsilon, concentration = rng.uniform(0.1, 3.0), rng.choice([0.2, 0.5, 1.0, 2.0, 5.0])
        belief = rng.dirichlet(np.full(symbols, concentration))
        least = least_cost(belief, epsilon, measured.table(symbols))
        gaps.append(cost(belief, epsilon, Choices(distance), measured) - least)
    assert min(gaps) >= -1e-9
    spread = float(np.std(gaps)) * np.sqrt(1.0 / beliefs + 1.0 / 60.0)
    assert np.mean(gaps) <= mean_gap + 4.0 * spread + 1e-12


@pytest.mark.parametrize("epsilon", [0.7, 1.0, 3.0])
def test_an_error_costs_less_than_with_the_kernel_for_equality(epsilon: float) -> None:
    """On many symbols, where being near is possible."""
    place = np.arange(40)
    for belief in (uniform(40), np.exp(-((place - 15.0) ** 2) / 60.0)):
        belief = belief / belief.sum()
        equality = cost(belief, epsilon, Choices("hamming"), Ordered())
        assert cost(belief, epsilon, ORDERED, Ordered()) < 0.9 * equality


def test_impossible_symbols_go_to_the_nearest_releasable_one() -> None:
    belief = np.array([0.0, 0.3, 0.0, 0.0, 0.0, 0.7, 0.0, 0.0])[:, None]
    proposal = OrderedKernel(expm1(1.0), exp(1.0)).propose(belief)
    sent = [int(proposal.row(np.array([x])).argmax()) for x in range(8)]
    assert sent == [1, 1, 1, 1, 5, 5, 5, 5]


def test_a_heavy_symbol_is_split_between_clusters_of_equal_mass() -> None:
    """Thirds of the mass: 0.2 + 0.11 + a bit; all from the middle symbol; the rest."""
    belief = np.array([0.2, 0.11, 0.42, 0.16, 0.11])
    proposal = OrderedKernel(expm1(0.75), exp(0.75)).propose(belief[:, None])
    into_lower, into_upper = (1 / 3 - 0.31) / 0.42, (0.73 - 2 / 3) / 0.42
    rows = [proposal.row(np.array([x]))[:, 0].tolist() for x in range(5)]
    assert rows[2] == pytest.approx([0.0, into_lower, 1.0 - into_lower - into_upper, into_upper, 0])
    assert rows[0] == rows[1] == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert rows[3] == rows[4] == [0.0, 0.0, 0.0, 1.0, 0.0]


def test_a_large_epsilon_releases_the_truth() -> None:
    belief = np.random.default_rng(1).dirichlet(np.ones(30))
    assert cost(belief, 15.0, ORDERED, Ordered()) < 1e-4
