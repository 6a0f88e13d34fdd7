"""Sparse and explicit proposals: they say what they are, and any of them is repaired."""

from collections.abc import Callable
from math import exp, expm1

import numpy as np
import pytest

from fugu.operators.mechanism import Floats
from fugu.operators.sip.metric_kernel import Assignment
from fugu.operators.sip.proposals import ExplicitKernel, Proposal
from fugu.operators.sip.release_law import ReleaseLaw
from tests.operators.sip import dense, explicit_law
from tests.operators.sip.beliefs import random_beliefs

SLACK = 1e-9
ROWS = 40

Random = Callable[[np.random.Generator, int], tuple[Proposal, Floats]]


def assignment(rng: np.random.Generator, symbols: int) -> tuple[Proposal, Floats]:
    """Up to three targets, often few different ones, often with all weight on one."""
    few = rng.integers(1, symbols + 1, size=ROWS)
    targets = rng.integers(0, few, size=(3, symbols, ROWS))
    gammas = rng.gamma(0.5, size=(3, symbols, ROWS)) * (rng.random((3, symbols, ROWS)) < 0.7)
    gammas[0] += np.where(gammas.sum(axis=0) == 0.0, 1.0, 0.0)
    weights = gammas / gammas.sum(axis=0)
    matrix = np.zeros((symbols, symbols, ROWS))
    for slot, x, row in np.ndindex(*targets.shape):
        matrix[x, targets[slot, x, row], row] += weights[slot, x, row]
    return Assignment.merged(targets, weights), matrix


def explicit(rng: np.random.Generator, symbols: int) -> tuple[Proposal, Floats]:
    """Matrices with zeros, columns of zeros among them."""
    gammas = rng.gamma(0.5, size=(ROWS, symbols, symbols)) * (rng.random((ROWS, 1, symbols)) < 0.6)
    gammas[:, :, 0] += np.where(gammas.sum(axis=2) == 0.0, 1.0, 0.0)
    matrices = gammas / gammas.sum(axis=2, keepdims=True)
    return ExplicitKernel.stacked(list(matrices), symbols), np.moveaxis(matrices, 0, 2)


@pytest.mark.parametrize("symbols", [1, 2, 3, 6])
@pytest.mark.parametrize("proposed", [assignment, explicit])
def test_a_proposal_is_its_matrix(proposed: Random, symbols: int) -> None:
    rng = np.random.default_rng(symbols)
    proposal, matrix = proposed(rng, symbols)
    belief = random_beliefs(rng, symbols, ROWS)
    assert (proposal.support == (matrix.max(axis=0) > 0.0)).all()
    np.testing.assert_allclose(proposal.largest(), matrix.max(axis=0), atol=1e-15)
    np.testing.assert_allclose(proposal.smallest(), matrix.min(axis=0), atol=1e-15)
    marginal = np.einsum("xr,xyr->yr", belief, matrix)
    np.testing.assert_allclose(proposal.marginal(belief), marginal, atol=1e-14)
    for symbol in range(symbols):
        chosen = np.full(ROWS, symbol)
        np.testing.assert_allclose(proposal.row(chosen), matrix[symbol], atol=1e-15)
        np.testing.assert_allclose(proposal.column(chosen), matrix[:, symbol], atol=1e-15)


@pytest.mark.parametrize("symbols", [1, 2, 3, 6])
@pytest.mark.parametrize("proposed", [assignment, explicit])
def test_any_proposal_is_repaired_and_its_leakage_is_exact(proposed: Random, symbols: int) -> None:
    rng = np.random.default_rng([symbols, 1])
    for epsilon in [1e-3, 15.0, *np.exp(rng.uniform(np.log(1e-3), np.log(15.0), 10))]:
        proposal, matrix = proposed(rng, symbols)
        belief = random_beliefs(rng, symbols, ROWS)
        computed = ReleaseLaw.repaired(belief, proposal, expm1(epsilon), exp(epsilon))
        law = dense.matrix(computed)
        leaked = dense.leakages(belief, law)
        assert (leaked <= epsilon + SLACK).all()
        assert (dense.distances(law) <= 2.0 * epsilon + SLACK).all()
        np.testing.assert_allclose(np.log(computed.leakage_ratio), leaked, rtol=0, atol=1e-10)
        for row in range(0, ROWS, 7):
            expected = explicit_law.repaired(belief[:, row], matrix[:, :, row], epsilon)
            np.testing.assert_allclose(law[:, :, row], expected, rtol=0, atol=1e-12)


def test_one_target_for_everybody_is_a_constant_that_costs_nothing() -> None:
    """Also where rounding leaves the sum of the belief beside 1."""
    belief = np.array([[0.1], [0.2], [0.7 - 2e-16]])
    always = Assignment.merged(np.full((2, 3, 1), 2), np.full((2, 3, 1), [[[0.3]], [[0.7]]]))
    matrix = ExplicitKernel(np.tile(np.array([0.0, 0.0, 1.0])[None, :, None], (3, 1, 1)))
    for proposal in (always, matrix):
        law = ReleaseLaw.repaired(belief, proposal, expm1(0.7), exp(0.7))
        assert law.leakage_ratio.tolist() == [1.0]
        assert law.probabilities(np.array([0])).tolist() == [[0.0], [0.0], [1.0]]
