"""Bounded CRR as a mechanism: configuration, state, ledger, annotations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import blake2b
from math import ceil, floor, inf, log, nan

import numpy as np
import pytest

from fugu.operators.budget import Budgeted
from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import Inputs, Mechanism, State, Words
from fugu.operators.sip.conditional_randomized_response import (
    ConditionalRandomizedResponse,
    PaperConditionalRandomizedResponse,
)
from fugu.operators.sip.distances import Ordered, Points
from fugu.operators.sip.inputs import Gaps
from fugu.operators.sip.markov_model import Chain, MarkovModel
from fugu.operators.sip.sparse_models import SparseMarkovModel, SparseRows
from tests.conformance.example import EPSILONS, Example, Examples, Unusable
from tests.operators.chosen_draws import ChosenWords, simulated, towards
from tests.operators.sip import explicit_law
from tests.operators.sip.small_models import cycle, only, second_order, sparse, sticky
from tests.operators.word_layout import number

MODEL = MarkovModel.smoothed([0.6, 0.3, 0.1], [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0, 0, 1]], 0.01)
CRR = ConditionalRandomizedResponse(MODEL, epsilon=1.2)


def each_model(kind: Callable[[MarkovModel, float], Mechanism]) -> tuple[Example, ...]:
    configured = [(sticky, 1.0), (sticky, 0.25), (cycle, 1.0), (cycle, 30.0), (only, 1.0)]
    return tuple(
        Example(kind(model(), epsilon), np.arange(model().symbols)) for model, epsilon in configured
    )


def examples(kind: type[ConditionalRandomizedResponse]) -> tuple[Example, ...]:
    walk = MarkovModel.smoothed([0.5, 0.3, 0.2], 0.7 * np.eye(3) + 0.1, smoothing=0.05)
    places = Points(np.array([[0.0, 0.0], [0.5, 1.0], [4.0, 4.0]]))
    in_time = kind(walk, epsilon=1.0, gaps=Gaps(step_milliseconds=60_000, longest=5))
    others: list[ConditionalRandomizedResponse | Budgeted] = [
        in_time,
        Budgeted(in_time, total=4.0),
        Budgeted(in_time, total=2.5, window=4),
        Budgeted(kind(sticky(), 1.0), total=4.0),
        Budgeted(kind(sticky(), 1.0), total=2.5, window=4),
        kind(walk, 0.8, mode="full_support"),
        kind(walk, 0.8, Ordered()),
        kind(walk, 2.0, places),
        kind(walk, 0.8, Ordered(), kernel="linear_program"),
        kind(sparse(), 1.0),
        kind(second_order(), 1.0),
        Budgeted(kind(second_order(), 1.0), total=4.0),
    ]
    return (
        *each_model(kind),
        *(Example(other, np.arange(other.outcomes[0])) for other in others),
    )


EXAMPLES: Examples = {
    ConditionalRandomizedResponse: examples,
    PaperConditionalRandomizedResponse: each_model,
}
UNUSABLE: Unusable = {kind: {"epsilon": (*EPSILONS, 50.1)} for kind in EXAMPLES}


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 50.1, nan, inf, -inf])
def test_a_bad_epsilon_is_refused_by_name(epsilon: float) -> None:
    with pytest.raises(ValueError, match=r"^epsilon: "):
        ConditionalRandomizedResponse(MODEL, epsilon)


@pytest.mark.parametrize("epsilon", [1e-3, 50.0])
def test_the_smallest_and_largest_epsilon_work(epsilon: float) -> None:
    mechanism = ConditionalRandomizedResponse(MODEL, epsilon)
    state, releases = mechanism.step(
        mechanism.start(4), Inputs(np.array([0, 1, 2, 0])), simulated(np.random.default_rng(0), 4)
    )
    np.testing.assert_allclose(state["belief"].sum(axis=1), 1.0, atol=1e-12)
    assert np.isin(releases.values, [0, 1, 2]).all()


@pytest.mark.parametrize("outside", [-1, 3, 2**40])
def test_a_symbol_outside_the_alphabet_is_refused_without_being_shown(outside: int) -> None:
    with pytest.raises(ValueError, match=r"outside 0\.\.2") as refused:
        CRR.step(CRR.start(1), Inputs(np.array([outside])), ChosenWords(np.zeros(1, np.uint64)))
    assert str(outside) not in str(refused.value).replace("0..2", "")


@pytest.mark.parametrize("belief", [[0.5, 0.6, 0.1], [nan, 0.5, 0.5], [1.5, -0.5, 0.0], [0, 0, 0]])
def test_a_damaged_belief_is_refused_and_the_row_is_named(belief: Sequence[float]) -> None:
    state = CRR.start(2)
    state["belief"][1] = belief
    with pytest.raises(ValueError, match="belief of row 1 is not a distribution"):
        CRR.step(state, Inputs(np.array([0, 0])), ChosenWords(np.zeros(2, np.uint64)))


def test_every_stream_starts_with_the_prior_and_an_empty_ledger() -> None:
    state = CRR.start(2)
    assert state["belief"].tolist() == [MODEL.prior.tolist()] * 2
    assert state["releases"].tolist() == state["spent"].tolist() == [0, 0]


def forced(state: State, truth: int, release: int) -> tuple[State, float]:
    """One row's step from `truth` to `release`, and its confidence."""
    draws = towards(CRR.law(state["belief"].T.copy()), np.array([release]))
    after, releases = CRR.step(state, Inputs(np.array([truth])), draws)
    assert releases.values.tolist() == [release]
    return after, float(releases.annotations["confidence"][0])


def test_state_and_confidence_say_nothing_about_the_truth_but_the_release() -> None:
    states = {0: CRR.start(1), 1: CRR.start(1), 2: CRR.start(1)}
    for release in (0, 1, 1, 0, 0):
        results = {truth: forced(state, truth, release) for truth, state in states.items()}
        states = {truth: after for truth, (after, _) in results.items()}
        assert len({confidence for _, confidence in results.values()}) == 1
        stored = {tuple((k, v.tobytes()) for k, v in s.items()) for s in states.values()}
        assert len(stored) == 1


def test_the_ledger_charges_the_actual_leakage_rounded_up() -> None:
    """Never less, at most epsilon, and otherwise at most by what a law of words differs."""
    rng, state, spent = np.random.default_rng(3), CRR.start(1), 0
    for step in range(60):
        belief = state["belief"][0]
        leaked = explicit_law.leakage(belief, explicit_law.bounded(belief, CRR.epsilon))
        state, _ = CRR.step(state, Inputs(np.array([step % 3])), simulated(rng, 1))
        charged = int(state["spent"][0]) - spent
        spent += charged
        owed = leaked * UNITS_PER_NAT if leaked > 1e-12 else 0.0
        assert floor(owed) <= charged <= min(ceil(owed) + 8, CRR.largest_charge)
        assert state["releases"].tolist() == [step + 1]


STICKY = MarkovModel.smoothed([0.5, 0.5], np.eye(2), smoothing=1e-9)
LARGE = SparseMarkovModel(
    np.full(5_000, 1 / 5_000),
    SparseRows.smoothed([({x: 1.0}, 0.0) for x in range(5_000)], 5_000, smoothing=1e-4),
)


@pytest.mark.parametrize(
    ("model", "epsilon"),
    [(MODEL, epsilon) for epsilon in (0.1, 1.0, 1.2, 3.0, 17.0, 36.0, 40.0, 50.0)]
    + [(STICKY, 12.0), (STICKY, 36.0), (LARGE, 5.0), (LARGE, 8.0)],
)
def test_no_release_is_charged_more_than_epsilon(model: Chain, epsilon: float) -> None:
    """Whatever the model is; charges were doubled where doubles could not follow the belief."""
    mechanism = ConditionalRandomizedResponse(model, epsilon)
    most = ceil(Fraction(epsilon) * UNITS_PER_NAT)
    sip, ldp = mechanism.guarantees()
    assert mechanism.largest_charge == most
    assert (sip.epsilon, ldp.epsilon) == (epsilon, 2.0 * epsilon)
    assert sip.finite_precision_delta == ldp.finite_precision_delta == sip.delta == 0.0
    rng, state = np.random.default_rng(4), mechanism.start(5)
    for _ in range(10):
        before, truth = state["spent"], Inputs(rng.integers(model.symbols, size=5))
        assert (mechanism.next_charge(state) <= most).all()
        state, _ = mechanism.step(state, truth, simulated(rng, 5))
        assert (state["spent"] - before <= most).all()


def test_every_release_can_be_drawn_for_every_truth_at_epsilon_36() -> None:
    """Five symbols alike: 14 of the 25 pairs had no word of their own, so leakage was infinite."""
    alike = MarkovModel.smoothed(np.full(5, 0.2), np.full((5, 5), 0.2), smoothing=0.0)
    mechanism = ConditionalRandomizedResponse(alike, epsilon=36.0)
    words = 2**64 - 94_208 + np.array([0, 90_780, 91_637, 92_494, 93_351, 94_207], dtype=object)
    for truth in range(5):
        draws = ChosenWords(words.astype(np.uint64))
        _, releases = mechanism.step(mechanism.start(6), Inputs(np.full(6, truth)), draws)
        assert releases.values.tolist() == [0, 1, 2, 3, 4, 4]


def test_the_audit_prints_what_is_leaked_and_not_what_is_charged() -> None:
    """Sticky and binary at 12 nats: the charge was twice that, and printed as leakage."""
    for model, epsilon in ((STICKY, 12.0), (MODEL, 30.0), (MODEL, 0.3)):
        mechanism = ConditionalRandomizedResponse(model, epsilon, mode="full_support")
        rows = mechanism.release_law(mechanism.start(1))[0]
        printed = mechanism.audit()["first release: actual leakage in nats"]
        assert printed == pytest.approx(explicit_law.leakage(model.prior, rows), abs=1e-9)


def test_an_epsilon_that_words_cannot_tell_apart_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^epsilon: 2e-14 nats is too small for words of 64 bits"):
        ConditionalRandomizedResponse(MODEL, 2e-14)
    assert ConditionalRandomizedResponse(LARGE, 3e-11).largest_charge == 33
    with pytest.raises(ValueError, match=r"^epsilon: 1e-11 nats is too small"):
        ConditionalRandomizedResponse(LARGE, 1e-11)


def test_a_constant_step_costs_nothing_and_teaches_nothing() -> None:
    certain = MarkovModel.smoothed([0.98, 0.02], [[0.5, 0.5], [0.5, 0.5]], 0.0)
    mechanism = ConditionalRandomizedResponse(certain, epsilon=log(2.0))
    state, releases = mechanism.step(
        mechanism.start(2), Inputs(np.array([0, 1])), simulated(np.random.default_rng(1), 2)
    )
    assert releases.values.tolist() == [0, 0]
    assert state["spent"].tolist() == [0, 0]
    assert releases.annotations["confidence"].tolist() == [0.98, 0.98]


def test_a_reader_learns_exactly_what_the_step_computed() -> None:
    """`observe` needs the releases only, and arrives at the same state and confidence."""
    rng, state, reader = np.random.default_rng(5), CRR.start(20), CRR.start(20)
    for _ in range(30):
        state, releases = CRR.step(state, Inputs(rng.integers(3, size=20)), simulated(rng, 20))
        before = reader["belief"]
        reader, posterior = CRR.observe(reader, releases.values)
        assert {k: v.tobytes() for k, v in reader.items()} == {
            k: v.tobytes() for k, v in state.items()
        }
        confidence = posterior[np.arange(20), releases.values]
        assert confidence.tolist() == releases.annotations["confidence"].tolist()
        for row in range(20):
            law = explicit_law.bounded(before[row], CRR.epsilon)
            joint = before[row] * law[:, releases.values[row]]
            np.testing.assert_allclose(posterior[row], joint / joint.sum(), rtol=0, atol=1e-11)


def test_where_doubles_cannot_follow_the_belief_predictions_are_counted() -> None:
    """Count releases, skips and gaps; the law pays for what the belief may be off by."""
    timed = ConditionalRandomizedResponse(STICKY, 1.0, gaps=Gaps(1, longest=100))
    assert "predictions" not in CRR.start(1)
    state = timed.elapse(timed.start(1), np.array([0]))
    assert state["predictions"].tolist() == [0]
    state, _ = timed.observe(state, np.array([1]))
    state, _ = timed.skip(state, np.array([1]))
    assert state["predictions"].tolist() == [2]
    state = timed.elapse(state, np.array([40]))
    assert state["predictions"].tolist() == [2 + 39]
    doubts = [
        timed.radius.doubt({**state, "predictions": np.array([k])}, timed.doubts) for k in (1, 41)
    ]
    assert doubts[0] < doubts[1]


def test_a_belief_that_may_be_anywhere_releases_a_constant_for_free() -> None:
    stuck = MarkovModel.smoothed([0.5, 0.5], np.eye(2), smoothing=1e-15)
    mechanism = ConditionalRandomizedResponse(stuck, 1.0)
    state = {**mechanism.start(2), "predictions": np.array([0, 2**50])}
    assert mechanism.next_charge(state).tolist() == [UNITS_PER_NAT, 0]
    words = ChosenWords(np.full(2, 2**64 - 1, dtype=np.uint64))
    after, releases = mechanism.step(state, Inputs(np.array([1, 1])), words)
    assert releases.values[1] == 0
    assert after["spent"].tolist() == [UNITS_PER_NAT, 0]


@dataclass
class RecordedDraws:
    """Remembers what was asked for."""

    asked: list[tuple[str, list[bytes]]] = field(default_factory=list)

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        self.asked.append((purpose, list(binding)))
        return np.zeros((len(binding), coordinates, count), dtype=np.uint64)


def test_the_draw_is_bound_to_the_symbol_and_to_what_was_released_before() -> None:
    """The law it is compared with depends on both."""
    draws = RecordedDraws()
    state = CRR.start(4)
    state["history"][3] = 7
    CRR.step(state, Inputs(np.array([2, 0, 1, 1])), draws)
    bindings = [
        blake2b(number(x), digest_size=32).digest() + history.to_bytes(8, "little")
        for x, history in ((2, 0), (0, 0), (1, 0), (1, 7))
    ]
    assert draws.asked == [("release", bindings)]


def test_every_release_and_every_skipped_position_changes_the_history() -> None:
    crr = ConditionalRandomizedResponse(
        MarkovModel.smoothed([0.5, 0.5], [[0.5, 0.5]] * 2, 0.0), 1.0
    )
    start = crr.start(2)
    skipped, _ = crr.skip(start, np.array([0, 1]))
    released, _ = crr.observe(start, np.array([0, 1]))
    again, _ = crr.observe(released, np.array([1, 0]))
    assert skipped["history"][0] == skipped["history"][1], "whatever is shown instead"
    states = (start, skipped, released, again)
    assert len({int(history) for state in states for history in state["history"]}) == 6
