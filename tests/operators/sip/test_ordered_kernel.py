"""The proposal for ordered symbols: its distances, and how near it is to the best possible law."""

from collections.abc import Iterator
from math import exp, expm1

import numpy as np
import pytest

from fugu.operators.mechanism import Floats
from fugu.operators.sip.distances import Distance, Ordered
from fugu.operators.sip.ordered_kernel import OrderedKernel, RunningSums
from tests.operators.sip import dense
from tests.operators.sip import ordered_candidates as candidates
from tests.operators.sip.beliefs import random_beliefs, uniform
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
    """Quarters of 102: 23 + 2.5; 9.5 + 14 + 2; 25.5 of the fourth symbol; the rest."""
    belief = np.array([23.0, 12.0, 14.0, 29.0, 24.0]) / 102.0
    proposal = OrderedKernel(expm1(1.0), exp(1.0)).propose(belief[:, None])
    rows = [proposal.row(np.array([x]))[:, 0].tolist() for x in range(5)]
    assert rows[1] == pytest.approx([2.5 / 12, 0.0, 9.5 / 12, 0.0, 0.0])
    assert rows[3] == pytest.approx([0.0, 0.0, 2.0 / 29, 25.5 / 29, 1.5 / 29])
    assert [rows[x].index(1.0) for x in (0, 2, 4)] == [0, 2, 4]


def beliefs_of_every_shape(rng: np.random.Generator, count: int) -> Iterator[Floats]:
    """Flat, peaked, heavy-tailed in any order, with a floor, and with zeros."""
    for number in range(count):
        symbols = int(rng.integers(2, 40))
        place, centre = np.arange(symbols), rng.uniform(0, symbols)
        width = rng.uniform(0.3, 1.0 + symbols / 3)
        zeros = (rng.dirichlet(np.full(symbols, 0.5)) + 1e-6) * (rng.random(symbols) < 0.5)
        zeros[rng.integers(symbols)] += 1.0
        shapes = (
            rng.dirichlet(np.full(symbols, rng.choice([0.3, 1.0, 3.0]))) + 1e-6,
            np.exp(-(((place - centre) / width) ** 2)) + 1e-6,
            rng.permutation(1.0 / (1.0 + place) ** rng.uniform(0.5, 3.0)),
            np.exp(-np.abs(place - centre) / width) + rng.uniform(0.0, 0.1),
            zeros,
        )
        belief = shapes[number % len(shapes)]
        yield belief / belief.sum()


def test_no_candidate_of_the_specification_is_cheaper() -> None:
    """Groups had the median of their own mass, which cost up to 7 % more: others get it, too."""
    rng = np.random.default_rng(32)
    for belief in beliefs_of_every_shape(rng, 150):
        epsilon = float(np.exp(rng.uniform(np.log(0.02), np.log(5.0))))
        proposal = OrderedKernel(expm1(epsilon), exp(epsilon)).propose(belief[:, None])
        rows = [proposal.row(np.array([x]))[:, 0] for x in range(len(belief))]
        mine = candidates.cost(belief, np.stack(rows), epsilon)
        for found in (candidates.equal_clusters, candidates.groups):
            least = min(candidates.cost(belief, other, epsilon) for other in found(belief, epsilon))
            assert mine <= least * (1.0 + 1e-9) + 1e-12


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("symbols", [2, 7, 40, 150])
def test_a_row_alone_has_the_bytes_it_has_among_others(symbols: int, epsilon: float) -> None:
    belief = random_beliefs(np.random.default_rng(symbols), symbols, 9)
    kernel = OrderedKernel(expm1(epsilon), exp(epsilon))
    together = kernel.propose(belief)
    for row in range(9):
        alone = kernel.propose(np.ascontiguousarray(belief[:, [row]]))
        assert alone.targets.tobytes() == together.targets[:, :, [row]].tobytes()
        assert alone.weights.tobytes() == together.weights[:, :, [row]].tobytes()


def test_running_sums_say_what_is_in_any_interval() -> None:
    belief = random_beliefs(np.random.default_rng(2), 30, 1)
    sums, place = RunningSums(belief), np.arange(30)
    for begin, to, end in [(0, 0, 30), (3, 9, 20), (29, 29, 30), (5, 5, 6)]:
        inside = slice(begin, end)
        moved = float((belief[inside, 0] * np.abs(place[inside] - to)).sum())
        at = [np.array([[number]]) for number in (begin, end, to)]
        assert sums.moved(*at)[0, 0] == pytest.approx(moved, abs=1e-13)
        assert sums.between(*at[:2])[0, 0] == pytest.approx(belief[inside].sum(), abs=1e-13)
    apart = np.abs(place[:, None] - place)
    assert sums.spread[:, 0] == pytest.approx(belief[:, 0] @ apart, abs=1e-12)


def test_a_large_epsilon_releases_the_truth() -> None:
    belief = np.random.default_rng(1).dirichlet(np.ones(30))
    assert cost(belief, 15.0, ORDERED, Ordered()) < 1e-4
