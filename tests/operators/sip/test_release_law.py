"""The repair theorem: every law is private for every belief and every proposal."""

from math import exp, expm1, inf

import numpy as np
import pytest

from fugu.operators.mechanism import Floats
from fugu.operators.sip.kernels import SymbolLaw
from fugu.operators.sip.proposals import IdentityKernel, StayOrFill
from fugu.operators.sip.release_law import ReleaseLaw
from tests.operators.sip import dense, explicit_law
from tests.operators.sip.beliefs import many_random_beliefs, random_beliefs

SLACK = 1e-9


def test_ten_thousand_random_beliefs_never_leak_more_than_epsilon() -> None:
    beliefs = 0
    for epsilon, belief in many_random_beliefs():
        computed = dense.bounded_law(belief, epsilon)
        law = dense.matrix(computed)
        assert (law >= 0.0).all()
        np.testing.assert_allclose(law.sum(axis=1), 1.0, rtol=0, atol=1e-12)
        assert (dense.leakages(belief, law) <= epsilon + SLACK).all()
        assert (dense.distances(law) <= 2.0 * epsilon + SLACK).all()
        actual = dense.leakages(belief, law)
        np.testing.assert_allclose(computed.leakage, actual, rtol=0, atol=1e-10)
        beliefs += belief.shape[1]
    assert beliefs == 10_080


def random_proposals(rng: np.random.Generator, symbols: int, rows: int) -> StayOrFill:
    """Any proposal of the documented form: two symbols stay, others may, fills are arbitrary."""
    columns = np.arange(rows)
    order = rng.random((symbols, rows)).argsort(axis=0)
    support = (order < 2) | (rng.random((symbols, rows)) < 0.7)
    stays = np.where(rng.random(rows) < 0.5, rng.random((symbols, rows)), 1.0)
    own = np.where(support, stays * rng.choice([0.0, 0.3, 1.0], (symbols, rows)), 0.0)
    own[order < 2] = 1.0
    partial = np.zeros((symbols, rows), dtype=bool)
    partial[order.argmax(axis=0), columns] = rng.random(rows) < 0.5
    fills = []
    for _ in range(2):
        weights = np.where(support, rng.gamma(0.4, size=(symbols, rows)) + 1e-9, 0.0)
        fills.append(weights / weights.sum(axis=0))
    constant = np.zeros((symbols, rows), dtype=bool)
    return StayOrFill(support, own, fills[0], partial, fills[1], constant)


def kernel(proposal: StayOrFill, row: int) -> Floats:
    """pi[x, y] of one row, from the proposal's description."""
    symbols = len(proposal.own)
    pi = np.zeros((symbols, symbols))
    for x in range(symbols):
        fill = proposal.partial_fill if proposal.partial[x, row] else proposal.fill
        pi[x] = (1.0 - proposal.own[x, row]) * fill[:, row]
        pi[x, x] += proposal.own[x, row]
    return pi


@pytest.mark.parametrize("symbols", [2, 3, 5, 9])
def test_arbitrary_proposals_are_repaired(symbols: int) -> None:
    rng = np.random.default_rng(symbols)
    for epsilon in np.exp(rng.uniform(np.log(1e-3), np.log(15.0), 20)):
        proposal = random_proposals(rng, symbols, 40)
        belief = random_beliefs(rng, symbols, 40)
        computed = ReleaseLaw.repaired(belief, proposal, expm1(epsilon), exp(epsilon))
        law = dense.matrix(computed)
        np.testing.assert_allclose(law.sum(axis=1), 1.0, rtol=0, atol=1e-12)
        leaked = dense.leakages(belief, law)
        assert (leaked <= epsilon + SLACK).all()
        assert (dense.distances(law) <= 2.0 * epsilon + SLACK).all()
        assert (leaked <= np.log(computed.leakage_ratio) + SLACK).all()
        mass, scale = computed.mass, expm1(epsilon) + computed.mass.sum(axis=0)
        for row in range(40):
            pi = kernel(proposal, row)
            np.testing.assert_allclose(pi.sum(axis=1), 1.0, atol=1e-12)
            b = belief[:, row] @ pi
            assert (mass[:, row] >= np.maximum(b, pi.max(axis=0) - exp(epsilon) * b) - 1e-12).all()
            q = (mass[:, row] + expm1(epsilon) * b) / scale[row]
            np.testing.assert_allclose(dense.marginal(belief, law)[:, row], q, atol=1e-12)
            rows = (mass[:, row] + expm1(epsilon) * pi) / scale[row]
            np.testing.assert_allclose(law[:, :, row], rows, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("symbols", [2, 3, 6])
def test_the_identity_proposal_is_the_papers_mechanism_where_that_is_private(symbols: int) -> None:
    rng = np.random.default_rng(5)
    for epsilon in [1.7, 2.0, 3.5]:
        floor = 1.0 / (exp(epsilon) + 1.0)
        if floor * symbols > 1.0:
            continue
        belief = floor + (1.0 - symbols * floor) * rng.dirichlet(np.ones(symbols), 50).T
        law = dense.matrix(
            ReleaseLaw.repaired(
                belief, IdentityKernel().propose(belief), expm1(epsilon), exp(epsilon)
            )
        )
        for row in range(50):
            expected = explicit_law.paper(belief[:, row], epsilon)
            np.testing.assert_allclose(law[:, :, row], expected, rtol=0, atol=1e-14)
            assert explicit_law.leakage(belief[:, row], expected) <= epsilon + SLACK


def test_the_posterior_is_bayes_rule() -> None:
    rng = np.random.default_rng(8)
    for symbols in (1, 2, 4, 7):
        for epsilon in (0.01, 0.8, 4.0):
            belief = random_beliefs(rng, symbols, 30)
            computed = dense.bounded_law(belief, epsilon)
            law = dense.matrix(computed)
            for y in range(symbols):
                joint = belief * law[:, y]
                seen = np.flatnonzero(joint.sum(axis=0) > 0.0)
                posterior = dense.bounded_law(belief[:, seen], epsilon).posterior(
                    np.full(len(seen), y)
                )
                expected = joint[:, seen] / joint[:, seen].sum(axis=0)
                np.testing.assert_allclose(posterior, expected, rtol=0, atol=1e-13)


def mean_reports(computed: SymbolLaw) -> Floats:
    """Return what a release reports on average, `[truth, symbol, row]`."""
    law = dense.matrix(computed)
    symbols, rows = computed.belief.shape
    reports = [computed.report(np.full(rows, y)) for y in range(symbols)]
    return np.asarray(np.einsum("xyr,yzr->xzr", law, np.stack(reports)))


@pytest.mark.parametrize("symbols", [2, 5, 9])
def test_a_report_departs_from_the_belief_as_the_proposal_for_the_truth_does(symbols: int) -> None:
    rng = np.random.default_rng(symbols)
    for epsilon in (0.1, 1.0, 6.0):
        proposal, belief = random_proposals(rng, symbols, 20), random_beliefs(rng, symbols, 20)
        computed = ReleaseLaw.repaired(belief, proposal, expm1(epsilon), exp(epsilon))
        reported = mean_reports(computed)
        for row in range(20):
            pi = kernel(proposal, row)
            expected = belief[:, row] + pi - belief[:, row] @ pi
            np.testing.assert_allclose(reported[:, :, row], expected, rtol=0, atol=1e-9)


def test_with_full_support_reports_are_unbiased_whatever_the_belief() -> None:
    rng = np.random.default_rng(6)
    for epsilon in (0.1, 1.0, 6.0):
        belief = random_beliefs(rng, 7, 20)
        identity = IdentityKernel().propose(belief)
        computed = ReleaseLaw.repaired(belief, identity, expm1(epsilon), exp(epsilon))
        expected = np.repeat(np.eye(7)[:, :, None], 20, axis=2)
        np.testing.assert_allclose(mean_reports(computed), expected, rtol=0, atol=1e-9)


def test_a_constant_reports_nothing_but_the_belief() -> None:
    belief = np.array([[0.9], [0.06], [0.04]])
    computed = dense.bounded_law(belief, 0.5)
    np.testing.assert_allclose(computed.report(np.array([0])), belief, rtol=0, atol=1e-12)


def test_a_symbol_believed_impossible_is_released_within_the_bound() -> None:
    belief = np.array([[0.7], [0.3], [0.0], [0.0]])
    for epsilon in (0.5, 1.0, 3.0, 8.0):
        law = dense.matrix(dense.bounded_law(belief, epsilon))
        assert (law.sum(axis=1) > 1.0 - 1e-12).all()
        assert explicit_law.leakage(belief[:, 0], law[:, :, 0]) <= epsilon + SLACK
        assert explicit_law.leakage(belief[:, 0], explicit_law.paper(belief[:, 0], epsilon)) == inf
        assert dense.paper_law(belief, epsilon).leakage_ratio.tolist() == [inf]


def test_an_alphabet_of_one_symbol_leaks_nothing() -> None:
    for computed in (
        dense.bounded_law(np.ones((1, 1)), 1.0),
        dense.paper_law(np.ones((1, 1)), 1.0),
    ):
        assert dense.matrix(computed).tolist() == [[[1.0]]]
        assert computed.leakage.tolist() == [0.0]
