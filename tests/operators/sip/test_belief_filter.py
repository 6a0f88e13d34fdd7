"""State after any releases: the belief is Bayes' rule, and the ledger covers what leaked."""

from decimal import Decimal, localcontext
from functools import partial
from math import log1p, sinh
from operator import mul, sub

import numpy as np
import pytest

from operators.mechanism import Floats, Inputs, State
from operators.nats import UNITS_PER_NAT
from operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from operators.sip.markov_model import MarkovModel
from tests.operators.chosen_draws import simulated, towards
from tests.operators.sip import explicit_law
from tests.operators.sip.brute_force import Enumeration, Path

STEPS = 4


def random_chain(symbols: int, seed: int) -> MarkovModel:
    rng = np.random.default_rng(seed)
    transition = rng.dirichlet(np.full(symbols, 0.6), symbols)
    return MarkovModel.smoothed(rng.dirichlet(np.ones(symbols)), transition, smoothing=1e-3)


def enumerated(mechanism: ConditionalRandomizedResponse) -> Enumeration:
    model = mechanism.model
    law_of = partial(explicit_law.bounded, epsilon=mechanism.epsilon)
    return Enumeration(model.prior, model.transition, law_of)


def forced_run(
    mechanism: ConditionalRandomizedResponse,
    expected: Enumeration,
    truth: list[Path],
    paths: list[Path],
) -> list[State]:
    """The states after each step; row i holds `truth[i]` and is drawn towards `paths[i]`."""
    states = [mechanism.start(len(paths))]
    for k in range(STEPS):
        rows: Floats = np.array(
            [expected.law(path[:k])[x[k]] for x, path in zip(truth, paths, strict=True)]
        )
        release = np.array([path[k] for path in paths])
        inputs = Inputs(np.array([x[k] for x in truth]))
        state, releases = mechanism.step(states[-1], inputs, towards(rows, release))
        assert releases.values.tolist() == release.tolist()
        states.append(state)
    return states


@pytest.mark.parametrize("epsilon", [0.4, 1.0, 2.5])
@pytest.mark.parametrize("symbols", [2, 3])
def test_beliefs_are_bayes_rule_over_all_sequences(symbols: int, epsilon: float) -> None:
    """Every path of releases, from every truth: 4 steps, to 1e-12."""
    mechanism = ConditionalRandomizedResponse(random_chain(symbols, seed=symbols), epsilon)
    expected = enumerated(mechanism)
    pairs = [(x, y) for y in expected.releasable(STEPS) for x in expected.paths(STEPS)]
    pairs = [(x, y) for x, y in pairs if expected.release_probability(x, y) > 0.0]
    truth, paths = [x for x, _ in pairs], [y for _, y in pairs]
    states = forced_run(mechanism, expected, truth, paths)
    for k, state in enumerate(states):
        beliefs = {prefix: expected.belief(prefix) for prefix in expected.releasable(k)}
        wanted = np.array([beliefs[path[:k]] for path in paths])
        np.testing.assert_allclose(state["belief"], wanted, rtol=0, atol=1e-12)
        assert len(np.unique(state["belief"], axis=0)) <= len(beliefs)
        assert (state["releases"] == k).all()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("symbols", [2, 3])
def test_the_ledger_covers_the_sequence_leakage_of_every_path(symbols: int, seed: int) -> None:
    mechanism = ConditionalRandomizedResponse(random_chain(symbols, seed), 0.3 + 0.4 * seed)
    expected = enumerated(mechanism)
    paths = expected.releasable(STEPS)
    state = forced_run(mechanism, expected, [(0,) * STEPS] * len(paths), paths)[-1]
    for path, spent in zip(paths, state["spent"] / UNITS_PER_NAT, strict=True):
        assert max(map(abs, expected.log_ratios(path).values())) <= spent + 1e-12
        assert spent <= STEPS * mechanism.guarantees()[0].epsilon


def decimals(doubles: Floats) -> list[Decimal]:
    return [Decimal(float(double)) for double in doubles]


def test_the_rounding_allowance_covers_beliefs_kept_in_doubles() -> None:
    """Against a filter of 60 digits over 400 releases of a chain that forgets slowly."""
    model = MarkovModel.smoothed(np.full(3, 1 / 3), np.eye(3), smoothing=0.002)
    mechanism = ConditionalRandomizedResponse(model, epsilon=1.0)
    transition = [decimals(row) for row in model.transition]
    rng, state, errors = np.random.default_rng(12), mechanism.start(1), []
    with localcontext() as context:
        context.prec = 60
        exact = decimals(model.prior)
        for _ in range(400):
            exact = [p / sum(exact) for p in exact]
            errors.append(sum(map(abs, map(sub, decimals(state["belief"][0]), exact))) / 2)
            law = mechanism.law(state["belief"].T.copy())
            rows = [decimals(law.probabilities(np.array([x]))[:, 0]) for x in range(3)]
            before = state["spent"]
            state, releases = mechanism.step(
                state, Inputs(rng.integers(3, size=1)), simulated(rng, 1)
            )
            charged = Decimal(int((state["spent"] - before)[0])) / UNITS_PER_NAT
            for column in zip(*rows, strict=True):
                q = sum(map(mul, exact, column))
                leaked = max(abs((a / q).ln()) for a in column) if q > 0 else 0
                assert leaked <= charged + Decimal("1e-50")
            likelihood = [row[int(releases.values[0])] for row in rows]
            posterior = list(map(mul, exact, likelihood))
            exact = [sum(map(mul, posterior, into)) for into in zip(*transition, strict=True)]
    allowance = mechanism.audit()["rounding allowance per release in nats"]
    assert isinstance(allowance, float)
    assert 0.0 < -log1p(-2.0 * sinh(mechanism.epsilon) * float(max(errors))) <= allowance
