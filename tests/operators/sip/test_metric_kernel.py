"""The proposal for points: section 3.3's numbers on a grid, and what becomes of each symbol."""

from math import exp, expm1

import numpy as np
import pytest

from fugu.operators.mechanism import Floats
from fugu.operators.sip.distances import Points
from fugu.operators.sip.metric_kernel import MetricKernel
from fugu.operators.sip.release_law import ReleaseLaw
from tests.operators.sip import dense
from tests.operators.sip.choices import HEURISTIC, scattered
from tests.operators.sip.linear_program import least_cost


def kernel(points: Points, epsilon: float) -> MetricKernel:
    return MetricKernel(points, expm1(epsilon), exp(epsilon))


@pytest.fixture(scope="module")
def grid() -> Points:
    """100 x 100 cells."""
    return Points(np.stack(np.divmod(np.arange(10_000), 100), axis=1))


@pytest.fixture(scope="module")
def gaussian(grid: Points) -> Floats:
    """A belief with standard deviation 3 around a cell in the middle."""
    weights = np.exp(-(grid.to(np.array([50.0, 50.0])) ** 2) / 18.0)
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize(("epsilon", "printed"), [(1.0, 3.24), (2.0, 2.22), (4.0, 1.06)])
def test_the_error_on_a_grid_is_that_of_section_3_3(
    grid: Points, gaussian: Floats, epsilon: float, printed: float
) -> None:
    """To the printed digits; at 4 nats 0.02 less than printed."""
    chosen = kernel(grid, epsilon)
    proposal = chosen.propose(gaussian[:, None])
    law = ReleaseLaw.repaired(gaussian[:, None], proposal, chosen.gain, chosen.growth)
    assert np.log(law.leakage_ratio[0]) <= epsilon + 1e-9
    moved = gaussian @ grid.to(grid.coordinates[proposal.targets[0, :, 0]])
    support = np.flatnonzero(law.proposal.support[:, 0])
    apart = [gaussian @ grid.to(grid.coordinates[y]) for y in support]
    mass = law.mass[support, 0]
    error = (chosen.gain * moved + mass @ apart) / (chosen.gain + mass.sum())
    assert printed - 0.02 <= round(float(error), 2) <= printed


def test_a_constant_release_errs_as_section_3_3_says(grid: Points, gaussian: Floats) -> None:
    assert round(float(gaussian @ grid.to(np.array([50.0, 50.0]))), 2) == 3.76
    proposal = kernel(grid, 0.01).propose(gaussian[:, None])
    assert np.unique(proposal.targets).tolist() == [50 * 100 + 50]


@pytest.mark.parametrize("symbols", [4, 8])
def test_the_law_is_between_the_constant_and_the_best_possible_one(symbols: int) -> None:
    rng = np.random.default_rng(symbols)
    points = scattered(symbols)
    table = points.table(symbols)
    excess = []
    for epsilon in rng.uniform(0.1, 4.0, 20):
        belief = rng.dirichlet(np.full(symbols, rng.choice([0.5, 2.0])))
        law = dense.matrix(dense.law_of(HEURISTIC["points"], belief[:, None], float(epsilon)))
        cost = float(dense.expected_distance(belief[:, None], law, table)[0])
        least = least_cost(belief, float(epsilon), table)
        assert least - 1e-7 <= cost <= (belief @ table).min() + 0.1 * table.max()
        excess.append(cost - least)
    assert np.mean(excess) < 0.15 * table.max()


def test_symbols_of_a_neighbourhood_share_their_release() -> None:
    """Two towns, three symbols each; nobody is ever in the last symbol of a town."""
    points = Points(np.array([[0, 0], [0, 1], [1, 0], [50, 0], [50, 1], [51, 0]]))
    belief = np.array([0.3, 0.2, 0.0, 0.2, 0.3, 0.0])
    targets = kernel(points, 1.0).propose(belief[:, None]).targets[0, :, 0]
    assert len(set(targets[:3])) == len(set(targets[3:])) == 1
    assert targets[0] < 3 <= targets[3]


def test_points_at_one_place_and_a_single_one_are_fine() -> None:
    together = Points(np.zeros((3, 2)))
    belief = np.array([[0.2, 1.0], [0.5, 0.0], [0.3, 0.0]])
    assert kernel(together, 1.0).propose(belief).targets.shape == (1, 3, 2)
    alone = kernel(Points(np.array([[1.0]])), 1.0).propose(np.ones((1, 4)))
    assert alone.targets.tolist() == [[[0] * 4]]
