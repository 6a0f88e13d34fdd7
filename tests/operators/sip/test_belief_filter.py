"""State after any releases: the belief is Bayes' rule, and the ledger covers what leaked."""

from decimal import Decimal, localcontext
from functools import partial
from itertools import product
from operator import mul

import numpy as np
import pytest

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import Floats, Inputs, State
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.inputs import Gaps
from fugu.operators.sip.integer_law import IntegerLaw
from fugu.operators.sip.kernels import SymbolLaw
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.second_order_model import SecondOrderModel
from fugu.operators.sip.sparse_models import SparseMarkovModel
from tests.operators.chosen_draws import simulated, towards
from tests.operators.sip import dense, explicit_law
from tests.operators.sip.brute_force import Enumeration, Path, first_order
from tests.operators.sip.chains import (
    moves,
    random_second_order,
    sparse,
    sparse_rows,
    truth_law,
)

STEPS = 4


def random_chain(symbols: int, seed: int) -> MarkovModel:
    rng = np.random.default_rng(seed)
    transition = rng.dirichlet(np.full(symbols, 0.6), symbols)
    return MarkovModel.smoothed(rng.dirichlet(np.ones(symbols)), transition, smoothing=1e-3)


def enumerated(model: MarkovModel, epsilon: float) -> Enumeration:
    law_of = partial(own_law, ConditionalRandomizedResponse(model, epsilon))
    return Enumeration(model.symbols, first_order(model.prior, model.transition), law_of)


def own_law(mechanism: ConditionalRandomizedResponse, belief: Floats) -> Floats:
    """a[x, y] that is drawn at a belief; what it should be is tested elsewhere."""
    return dense.matrix(mechanism.law(belief[:, None]))[:, :, 0]


def forced_run(
    mechanism: ConditionalRandomizedResponse, truth: list[Path], paths: list[Path]
) -> list[State]:
    """The states after each step; row i holds `truth[i]` and is drawn towards `paths[i]`."""
    states = [mechanism.start(len(paths))]
    for k in range(STEPS):
        law = mechanism.law(mechanism.model.marginal(states[-1]["belief"].T.copy()))
        release = np.array([path[k] for path in paths])
        inputs = Inputs(np.array([x[k] for x in truth]))
        state, releases = mechanism.step(states[-1], inputs, towards(law, release))
        assert releases.values.tolist() == release.tolist()
        states.append(state)
    return states


@pytest.mark.parametrize("epsilon", [0.4, 1.0, 2.5])
@pytest.mark.parametrize("symbols", [2, 3])
def test_beliefs_are_bayes_rule_over_all_sequences(symbols: int, epsilon: float) -> None:
    """Every path of releases, from every truth: 4 steps, to 1e-12."""
    model = random_chain(symbols, seed=symbols)
    expected = enumerated(model, epsilon)
    compare(ConditionalRandomizedResponse(model, epsilon), expected)
    compare(ConditionalRandomizedResponse(sparse(model), epsilon), expected)


@pytest.mark.parametrize("epsilon", [0.4, 1.0, 2.5])
@pytest.mark.parametrize(("symbols", "listed"), [(2, 0), (2, 3), (2, 4), (3, 5), (3, 9)])
def test_beliefs_of_a_second_order_chain_are_bayes_rule(
    symbols: int, listed: int, epsilon: float
) -> None:
    """With no pair listed, some, and all; with restarts, which the reference follows one by one."""
    chain = random_second_order(symbols, listed, seed=listed)
    mechanism = ConditionalRandomizedResponse(chain.model(), epsilon)
    compare(mechanism, Enumeration(symbols, truth_law(chain), partial(own_law, mechanism)))


def test_with_all_pairs_and_no_restarts_the_chain_is_a_table_of_triples() -> None:
    """Section 4: B'[v, w] = sum over u of B[u, v] T[u, v, w]."""
    rng = np.random.default_rng(3)
    prior, single = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3)
    triples = rng.dirichlet(np.ones(3), (3, 3))

    def table(truth: Path) -> float:
        later = [triples[truth[k : k + 3]] for k in range(len(truth) - 2)]
        second = [single[truth[:2]]] if len(truth) > 1 else []
        return float(np.prod([prior[truth[0]], *second, *later]))

    model = SecondOrderModel(
        prior,
        np.array(list(product(range(3), repeat=2))),
        sparse_rows([*single, *triples.reshape(9, 3)], 0.0),
    )
    mechanism = ConditionalRandomizedResponse(model, 1.0)
    compare(mechanism, Enumeration(3, table, partial(own_law, mechanism)))


def compare(mechanism: ConditionalRandomizedResponse, expected: Enumeration) -> None:
    """Every truth and every path of releases."""
    pairs = [(x, y) for y in expected.releasable(STEPS) for x in expected.paths(STEPS)]
    pairs = [(x, y) for x, y in pairs if expected.release_probability(x, y) > 0.0]
    truth, paths = [x for x, _ in pairs], [y for _, y in pairs]
    states = forced_run(mechanism, truth, paths)
    for k, state in enumerate(states):
        beliefs = {prefix: expected.belief(prefix) for prefix in expected.releasable(k)}
        wanted = np.array([beliefs[path[:k]] for path in paths])
        marginal = mechanism.model.marginal(state["belief"].T).T
        np.testing.assert_allclose(marginal, wanted, rtol=0, atol=1e-12)
        assert len(np.unique(state["belief"], axis=0)) <= len(beliefs)
        assert (state["releases"] == k).all()


def test_a_skipped_position_is_one_that_nobody_saw() -> None:
    """For every chain, the belief after a release and a skip sums over what was skipped."""
    first = random_chain(3, seed=1)
    second = random_second_order(3, 4, seed=1)
    for model, law in (
        (sparse(first), first_order(first.prior, first.transition)),
        (second.model(), truth_law(second)),
    ):
        mechanism = ConditionalRandomizedResponse(model, 1.3)
        state, _ = mechanism.observe(mechanism.start(3), np.arange(3))
        state, _ = mechanism.skip(state, np.zeros(3, dtype=np.int64))
        released = explicit_law.bounded(model.prior, 1.3)
        for y in range(3):
            joint = [
                sum(law((x, skipped, v)) * released[x, y] for x in range(3) for skipped in range(3))
                for v in range(3)
            ]
            if sum(joint) > 0.0:
                marginal = model.marginal(state["belief"].T)[:, y]
                np.testing.assert_allclose(marginal, np.divide(joint, sum(joint)), atol=1e-13)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("symbols", [2, 3])
def test_the_ledger_covers_the_sequence_leakage_of_every_path(symbols: int, seed: int) -> None:
    model, epsilon = random_chain(symbols, seed), 0.3 + 0.4 * seed
    mechanism, expected = ConditionalRandomizedResponse(model, epsilon), enumerated(model, epsilon)
    paths = expected.releasable(STEPS)
    state = forced_run(mechanism, [(0,) * STEPS] * len(paths), paths)[-1]
    for path, spent in zip(paths, state["spent"].tolist(), strict=True):
        assert max(map(abs, expected.log_ratios(path).values())) <= spent / UNITS_PER_NAT + 1e-12
        assert spent <= STEPS * mechanism.largest_charge


def decimals(doubles: Floats) -> list[Decimal]:
    return [Decimal(float(double)) for double in doubles]


def words_given(law: SymbolLaw, truth: int) -> list[Decimal]:
    """W(y|x) / 2^64 in full."""
    assert isinstance(law, IntegerLaw)
    if law.constant[0] >= 0:
        return [Decimal(int(y == law.constant[0])) for y in range(len(law.belief))]
    return [Decimal(int(w)) / 2**64 for w in law.weights(np.array([truth]))[:, 0]]


def hilbert_distance(one: list[Decimal], other: list[Decimal]) -> Decimal:
    """ln of the largest ratio of shares over the smallest, where there are shares."""
    ratios = [a / b for a, b in zip(one, other, strict=True) if b > 0]
    assert all((a > 0) == (b > 0) for a, b in zip(one, other, strict=True))
    return (max(ratios) / min(ratios)).ln()


SLOW = MarkovModel.smoothed(np.full(3, 1 / 3), np.eye(3), smoothing=0.002)
"""A chain that forgets slowly."""


@pytest.mark.parametrize(
    ("model", "steps", "gap"),
    [
        (SLOW, 400, 1),
        (SLOW, 100, 7),
        (sparse(SLOW), 100, 1),
        (random_second_order(2, 3, seed=4).model(), 200, 1),
        (random_second_order(2, 3, seed=4).model(), 50, 3),
    ],
    ids=["dense", "dense, gaps", "sparse", "second order", "second order, gaps"],
)
def test_charges_cover_the_leakage_of_beliefs_kept_in_doubles(
    model: MarkovModel | SparseMarkovModel | SecondOrderModel, steps: int, gap: int
) -> None:
    """Against a filter of 60 digits; and the beliefs are as near to it as is said."""
    mechanism = ConditionalRandomizedResponse(model, epsilon=1.0, gaps=Gaps(1, longest=10))
    last = np.argmax(model.marginal(np.eye(len(model.start))), axis=0).tolist()
    n, rng, state = model.symbols, np.random.default_rng(12), mechanism.start(1)
    predictions = 0
    with localcontext() as context:
        context.prec = 60
        exact = decimals(model.start)
        for step in range(steps):
            state = mechanism.elapse(state, np.array([step * gap]))
            exact = [p / sum(exact) for p in exact]
            predictions += gap
            bound = mechanism.radius.distances([predictions])[0]
            assert hilbert_distance(decimals(state["belief"][0]), exact) <= Decimal(float(bound))
            law = mechanism.law(model.marginal(state["belief"].T.copy()))
            rows = [words_given(law, x) for x in range(n)]
            before = state["spent"]
            state, releases = mechanism.step(
                state, Inputs(rng.integers(n, size=1)), simulated(rng, 1)
            )
            charged = Decimal(int((state["spent"] - before)[0])) / UNITS_PER_NAT
            for y in range(n):
                column = [rows[x][y] for x in range(n)]
                q = sum(map(mul, exact, [column[x] for x in last]))
                leaked = max(abs((a / q).ln()) for a in column) if q > 0 else 0
                assert leaked <= charged + Decimal("1e-50")
            posterior = [
                p * rows[x][int(releases.values[0])] for p, x in zip(exact, last, strict=True)
            ]
            exact = posterior
            for _ in range(gap):
                before_it, exact = exact, [Decimal(0)] * len(posterior)
                for source, target, probability in moves(model):
                    exact[target] += before_it[source] * probability
