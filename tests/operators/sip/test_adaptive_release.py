"""Publish or repeat, as a mechanism: the decision, the belief, the draws, and what is published."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import mpmath
import numpy as np
import pytest

from fugu.operators.auditing.enumeration import stream_probabilities
from fugu.operators.budget import Budgeted
from fugu.operators.budget_units import in_nats, units_of
from fugu.operators.mechanism import Floats, Inputs, Integers, Kind, Words
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.responses.randomized_response import Odds
from fugu.operators.sip.adaptive_release import (
    AdaptiveRelease,
    Distance,
    RepeatDecision,
    expected_distance,
    expected_steps,
    near,
    near_points,
)
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import Points
from fugu.operators.sip.markov_model import MarkovModel
from tests.conformance.example import EPSILONS, Example, Examples, Unusable
from tests.operators.sip import dense
from tests.operators.sip.beliefs import random_beliefs
from tests.operators.sip.chains import random_second_order
from tests.operators.sip.choices import scattered
from tests.operators.sip.small_models import cycle, only, second_order, sparse, sticky
from tests.operators.sip.test_sampler import agrees
from tests.privacy.chains import random_chain
from tests.privacy.leakage import all_sequences

MODEL = MarkovModel.smoothed([0.6, 0.3, 0.1], [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0, 0, 1]], 0.01)
ADAPTIVE = AdaptiveRelease(MODEL, decision_epsilon=1.5, release_epsilon=0.8)
ROWS = 100_000
PLACES = Points(np.array([[0.0, 0.0], [0.5, 1.0], [4.0, 4.0]]))


def examples(kind: type[AdaptiveRelease]) -> tuple[Example, ...]:
    right_or_wrong = kind(sticky(), 2.0, 1.0)
    apart = kind(cycle(), 0.7, 0.5, distance="steps")
    mechanisms: list[AdaptiveRelease | Budgeted] = [
        right_or_wrong,
        apart,
        kind(sparse(), 1.0, 2.0),
        kind(second_order(), 30.0, 30.0),
        kind(only(), 1.0, 1.0),
        Budgeted(right_or_wrong, total=6.0),
        Budgeted(apart, total=1.5, window=4),
        kind(cycle(), 0.7, 1.5, distance=PLACES),
    ]
    return tuple(Example(one, np.arange(one.outcomes[0])) for one in mechanisms)


EXAMPLES: Examples = {AdaptiveRelease: examples}
UNUSABLE: Unusable = {
    AdaptiveRelease: {
        "decision_epsilon": (*EPSILONS, 50.1, 1e-20),
        "release_epsilon": (*EPSILONS, 50.1),
    },
}


@dataclass(frozen=True)
class ChosenByPurpose:
    """Hands out a chosen word for each purpose, and remembers what it was bound to."""

    decision: int = 0
    release: int = 0
    bindings: dict[str, Sequence[bytes]] = field(default_factory=dict)

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        self.bindings[purpose] = binding
        word = {"decision": self.decision, "release": self.release}[purpose]
        return np.full((len(binding), coordinates, count), word, dtype=np.uint64)


def predictive(model: MarkovModel, likelihood: Floats, steps: int) -> Floats:
    """P(next symbol given releases) by Bayes' rule over all truths, `(paths, n)`."""
    joint = stream_probabilities(model, steps + 1).reshape(-1, model.symbols)
    weights = np.exp(likelihood).T @ joint
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("distance", ["symbol", "steps", "points"])
@pytest.mark.parametrize("symbols", [2, 3])
def test_beliefs_are_bayes_rule_over_all_truths_and_decisions(
    symbols: int, distance: Distance | Literal["points"]
) -> None:
    rng = np.random.default_rng(symbols)
    apart = scattered(symbols) if distance == "points" else distance
    for _ in range(10):
        model = random_chain(rng, symbols)
        decision, release = rng.uniform(0.1, 3.0, 2)
        paths = all_sequences(AdaptiveRelease(model, decision, release, apart), 3)
        expected = predictive(model, paths.log_likelihood, 3)
        np.testing.assert_allclose(paths.state["belief"], expected, rtol=0, atol=1e-12)


def test_a_second_order_belief_has_the_marginal_of_bayes_rule() -> None:
    model = random_second_order(2, 3, seed=5).model()
    paths = all_sequences(AdaptiveRelease(model, 1.0, 0.7), 3)
    joint = stream_probabilities(model, 4).reshape(-1, 2)
    weights = np.exp(paths.log_likelihood).T @ joint
    expected = weights / weights.sum(axis=1, keepdims=True)
    marginal = model.marginal(np.ascontiguousarray(paths.state["belief"].T)).T
    np.testing.assert_allclose(marginal, expected, rtol=0, atol=1e-12)


def test_a_truthful_word_repeats_what_is_still_right_and_replaces_what_is_not() -> None:
    """The last release is symbol 0 before anything was released."""
    truths, last = Inputs(np.array([0, 1, 2])), 2**64 - 1
    for word, repeated in ((0, [True, False, False]), (last, [False, True, True])):
        draws = ChosenByPurpose(decision=word)
        state, releases = ADAPTIVE.step(ADAPTIVE.start(3), truths, draws)
        assert releases.kinds is not None
        assert ((releases.kinds == Kind.REPEATED) == repeated).all()
        assert (releases.values[repeated] == 0).all()
        assert (state["previous"] == releases.values).all()


def test_decision_and_release_are_two_draws_bound_to_data_and_history() -> None:
    truths = Inputs(np.array([0, 1, 2]))
    fresh, later = ChosenByPurpose(), ChosenByPurpose()
    state, _ = ADAPTIVE.step(ADAPTIVE.start(3), truths, fresh)
    ADAPTIVE.step({**ADAPTIVE.start(3), "history": state["history"]}, truths, later)
    assert len(set(fresh.bindings["release"])) == 3
    asked = fresh.bindings["decision"]
    assert asked[0] != asked[1] == asked[2]
    for purpose in ("decision", "release"):
        assert not set(fresh.bindings[purpose]) & set(later.bindings[purpose])


@pytest.mark.parametrize("truth", range(3))
def test_keyed_draws_give_the_law_of_every_truth(truth: int) -> None:
    """10^5 streams that all published symbol 1 before; a sound sampler fails with 3 * 10^-4."""
    scope = DrawScope(Secret(bytes(range(32))), "tests", "op", 1, ADAPTIVE.law_digest())
    draws = scope.draws([b"key"] * ROWS, record_positions("topic", 0, range(ROWS)))
    start = {name: np.repeat(column, ROWS, axis=0) for name, column in ADAPTIVE.start(1).items()}
    state = ADAPTIVE.follow(start, np.ones(ROWS, dtype=np.int64))
    one = {name: column[:1] for name, column in state.items()}
    _, releases = ADAPTIVE.step(state, Inputs(np.full(ROWS, truth)), draws)
    assert agrees(ADAPTIVE.outcome_of(releases), ROWS * ADAPTIVE.release_law(one)[0, truth])


@pytest.mark.parametrize("symbols", [1, 2, 5, 9])
def test_the_expected_steps_are_those_of_the_explicit_law(symbols: int) -> None:
    belief = random_beliefs(np.random.default_rng(symbols), symbols, 50)
    for epsilon in (0.3, 1.0, 4.0):
        law = dense.bounded_law(belief, epsilon)
        apart = np.abs(np.arange(symbols)[:, None] - np.arange(symbols))
        expected = np.einsum("xr,xyr,xy->r", belief, dense.matrix(law), apart)
        np.testing.assert_allclose(expected_steps(law), expected, rtol=0, atol=1e-12)


def test_what_is_near_is_at_most_so_many_steps_away() -> None:
    previous: Integers = np.array([0, 3])
    close = near(5, previous, np.array([0.0, 1.4]))
    assert close[:, 0].tolist() == [True, False, False, False, False]
    assert close[:, 1].tolist() == [False, False, True, True, True]


@pytest.mark.parametrize("symbols", [1, 2, 5])
def test_between_points_the_expected_distance_is_that_of_the_explicit_law(symbols: int) -> None:
    points = scattered(symbols)
    belief = random_beliefs(np.random.default_rng(symbols), symbols, 50)
    law = ConditionalRandomizedResponse(_uniform(symbols), 1.5, points).law(belief)
    table = points.table(symbols)
    expected = np.einsum("xr,xyr,xy->r", belief, dense.matrix(law), table)
    np.testing.assert_allclose(expected_distance(law, points), expected, rtol=0, atol=1e-12)


def _uniform(symbols: int) -> MarkovModel:
    each = np.full(symbols, 1.0 / symbols)
    return MarkovModel(each, np.tile(each, (symbols, 1)))


def test_what_is_near_between_points_is_not_what_is_near_in_the_alphabet() -> None:
    points = Points(np.array([[0.0], [9.0], [1.0]]))
    close = near_points(points, np.array([0, 1]), np.array([1.0, 8.5]))
    assert close.T.tolist() == [[True, False, True], [False, True, True]]


def test_points_make_releases_nearer_and_are_another_law() -> None:
    """Two pairs of places: a release may be wrong within a pair at little cost."""
    pairs = Points(np.array([[0.0], [9.0], [1.0], [10.0]]))
    model = _uniform(4)
    adaptive = AdaptiveRelease(model, 1.0, 1.0, pairs)
    symbol = AdaptiveRelease(model, 1.0, 1.0)
    assert adaptive.law_digest() != symbol.law_digest()
    assert not adaptive.runs
    distances = []
    for one in (adaptive, symbol):
        fresh = one.release_law(one.start(1))[0, :, :4]
        distances.append((fresh * pairs.table(4)).sum() / fresh.sum())
    assert distances[0] < 0.8 * distances[1]


def test_without_a_release_the_next_question_is_about_what_was_published_instead() -> None:
    instead = np.array([2])
    state, releases = ADAPTIVE.skip(ADAPTIVE.start(1), instead)
    assert state["previous"].tolist() == releases.values.tolist() == [2]
    assert state["spent"].tolist() == [0]
    expected = MODEL.predict(MODEL.prior[:, None])[:, 0]
    np.testing.assert_array_equal(state["belief"][0], expected)


def long_run(
    mechanism: AdaptiveRelease | ConditionalRandomizedResponse, streams: int, steps: int
) -> tuple[float, float]:
    """Mean share of wrong symbols and mean nats per record, of streams drawn from the model."""
    rng, model = np.random.default_rng(1), mechanism.model
    assert isinstance(model, MarkovModel)
    reached = np.cumsum(model.transition, axis=1)
    truth, state, wrong = rng.integers(model.symbols, size=streams), mechanism.start(streams), []
    for _ in range(steps):
        truth = (rng.random(streams)[:, None] > reached[truth, :-1]).sum(axis=1)
        state, releases = mechanism.step(state, Inputs(truth), SimulatedByPurpose(rng))
        wrong.append(float((releases.values != truth).mean()))
    return float(np.mean(wrong)), in_nats(int(state["spent"].sum())) / (streams * steps)


@dataclass(frozen=True)
class SimulatedByPurpose:
    """Words from a generator that is good enough for simulations."""

    rng: np.random.Generator

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        shape = (len(binding), coordinates, count)
        return self.rng.integers(2**64, size=shape, dtype=np.uint64)


def test_repeating_pays_off_for_large_epsilons_and_not_for_small_ones() -> None:
    """20 symbols that stay nine times out of ten."""
    transition = np.full((20, 20), 0.1 / 19)
    np.fill_diagonal(transition, 0.9)
    model = MarkovModel.smoothed(np.full(20, 0.05), transition, smoothing=0.0)
    plain, cost = long_run(ConditionalRandomizedResponse(model, 4.0), 100, 100)
    adaptive, adaptive_cost = long_run(AdaptiveRelease(model, 3.0, 3.0), 100, 100)
    assert adaptive < 0.7 * plain
    assert adaptive_cost < 0.95 * cost
    plain, cost = long_run(ConditionalRandomizedResponse(model, 2.0), 100, 100)
    adaptive, adaptive_cost = long_run(AdaptiveRelease(model, 1.0, 1.0), 100, 100)
    assert adaptive > 1.5 * plain
    assert adaptive_cost > 0.9 * cost


@pytest.mark.parametrize("symbols", [32, 33])
def test_the_audit_writes_the_law_of_small_alphabets_out(symbols: int) -> None:
    adaptive = AdaptiveRelease(random_chain(np.random.default_rng(1), symbols), 1.0, 2.0)
    numbers = adaptive.audit()
    law = adaptive.release_law(adaptive.start(1))[0]
    written = numbers[
        "first position: probabilities (row = truth, column = released, then repeated)"
    ]
    assert written == (law.tolist() if symbols == 32 else None)
    repeated = (adaptive.model.start @ law[:, symbols:]).sum()
    assert numbers["first position: probability of a repeated release"] == pytest.approx(repeated)


@pytest.mark.parametrize("epsilons", [(1.5, 0.8), (1.0, 0.1), (12.0, 12.0), (36.0, 50.0)])
def test_without_a_model_the_bit_counts_once_and_the_release_twice(
    epsilons: tuple[float, float],
) -> None:
    """Claimed, audited and computed from all rows; it was claimed as twice both."""
    decision, release = epsilons
    adaptive = AdaptiveRelease(MODEL, decision, release)
    sip, ldp = adaptive.guarantees()
    assert (sip.epsilon, ldp.epsilon) == (decision + release, decision + 2.0 * release)
    assert adaptive.audit()["one position to anybody, at most, in nats"] == ldp.epsilon
    assert {one.delta + one.finite_precision_delta for one in (sip, ldp)} == {0.0}
    law = adaptive.release_law(adaptive.start(1))[0]
    shown = law[:, law.max(axis=0) > 0.0]
    assert np.log(shown.max(axis=0) / shown.min(axis=0)).max() <= ldp.epsilon + 1e-9
    assert adaptive.largest_charge <= units_of(decision) + units_of(release)


def test_under_a_budget_the_figure_without_a_model_is_twice_the_total() -> None:
    """Count the charge of a bit relative to the model, too."""
    for decision, release in ((1.5, 0.8), (1.0, 0.1)):
        budgeted = Budgeted(AdaptiveRelease(MODEL, decision, release), total=20.0)
        sip, ldp = budgeted.guarantees()
        assert ldp.epsilon == 2.0 * sip.epsilon == pytest.approx(40.0)


def test_the_audit_prints_what_bit_and_release_leak() -> None:
    adaptive = AdaptiveRelease(MODEL, 12.0, 12.0)
    audit, state = adaptive.audit(), adaptive.start(1)
    law, belief = adaptive.release_law(state)[0], state["belief"][0]
    repeats = law[:, MODEL.symbols :].sum(axis=1)
    bits = [np.abs(np.log(bit / (belief @ bit))).max() for bit in (repeats, 1.0 - repeats)]
    assert audit["first position: actual leakage of the bit in nats"] == pytest.approx(max(bits))
    both = np.abs(np.log(law[:, : MODEL.symbols] / (belief @ law[:, : MODEL.symbols]))).max()
    printed = audit["first position: actual leakage with a fresh release in nats"]
    assert isinstance(printed, float)
    assert both - 1e-9 <= printed <= 24.0 + 1e-9


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0, 40.0])
@pytest.mark.parametrize("repeats", [False, True])
def test_the_decision_has_the_probabilities_of_its_words_to_the_last_bit(
    epsilon: float, repeats: bool
) -> None:
    """1 less the probability of the other answer has an error of 1.8e-8 at 20 nats."""
    odds, close = Odds.of(others=1, epsilon=epsilon), np.array([[True], [False], [False]])
    decision = RepeatDecision(np.full((3, 1), 1 / 3), close, odds)
    law = ADAPTIVE._fresh.law(decision.belief, np.zeros(1))
    joint = decision.joint(law, np.array([0]))[0]
    with mpmath.workdps(50):
        rare = mpmath.mpf(odds.each) / 2**64
        assert abs(rare * (1 + mpmath.exp(epsilon)) - 1) < 1e-17 * mpmath.exp(epsilon)
        for truth in range(3):
            exact = rare if close[truth, 0] != repeats else 1 - rare
            fresh = law.probabilities(np.array([truth]))[:, 0]
            for symbol, found in enumerate(joint[truth, 3:] if repeats else joint[truth, :3]):
                share = float(symbol == 0) if repeats else mpmath.mpf(float(fresh[symbol]))
                assert abs(mpmath.mpf(float(found)) - exact * share) <= 4e-16 * exact * share
