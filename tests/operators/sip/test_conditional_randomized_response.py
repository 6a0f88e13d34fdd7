"""Bounded CRR as a mechanism: configuration, state, ledger, annotations."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from math import ceil, floor, inf, log, nan

import numpy as np
import pytest

from operators.mechanism import Inputs, State, Words
from operators.nats import UNITS_PER_NAT
from operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from operators.sip.markov_model import MarkovModel
from tests.operators.chosen_draws import ChosenWords, simulated, towards
from tests.operators.sip import explicit_law
from tests.operators.word_layout import number

MODEL = MarkovModel.smoothed([0.6, 0.3, 0.1], [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0, 0, 1]], 0.01)
CRR = ConditionalRandomizedResponse(MODEL, epsilon=1.2)


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
    row = explicit_law.bounded(state["belief"][0], CRR.epsilon)[truth]
    draws = towards(row[None], np.array([release]))
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


def test_the_ledger_charges_the_actual_leakage_and_the_rounding_allowance() -> None:
    """Never less, and at most four units more."""
    allowance = CRR.audit()["rounding allowance per release in nats"]
    assert isinstance(allowance, float)
    assert 0.0 < allowance < 1e-10
    rng, state, spent = np.random.default_rng(3), CRR.start(1), 0
    for step in range(60):
        belief = state["belief"][0]
        law = explicit_law.bounded(belief, CRR.epsilon)
        state, _ = CRR.step(state, Inputs(np.array([step % 3])), simulated(rng, 1))
        leaked = explicit_law.leakage(belief, law)
        charged = int(state["spent"][0]) - spent
        spent += charged
        owed = (leaked + allowance) * UNITS_PER_NAT if leaked > 1e-12 else 0.0
        assert floor(owed) <= charged <= ceil(owed) + 4
        assert state["releases"].tolist() == [step + 1]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 1.2, 3.0, 17.0, 40.0])
def test_no_release_is_charged_more_than_the_guarantee_says(epsilon: float) -> None:
    mechanism = ConditionalRandomizedResponse(MODEL, epsilon)
    rng, state = np.random.default_rng(4), mechanism.start(50)
    for _ in range(40):
        before = state["spent"]
        state, _ = mechanism.step(state, Inputs(rng.integers(3, size=50)), simulated(rng, 50))
        charged = (state["spent"] - before).max() / UNITS_PER_NAT
        assert charged <= mechanism.guarantees()[0].epsilon


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
            np.testing.assert_allclose(posterior[row], joint / joint.sum(), rtol=0, atol=1e-13)


def test_where_doubles_cannot_follow_the_belief_twice_the_leakage_is_charged() -> None:
    """Twice the leakage holds whatever the belief is: the rows of the law differ by that much."""
    mechanism = ConditionalRandomizedResponse(MODEL, epsilon=40.0)
    assert mechanism.audit()["rounding allowance per release in nats"] is None
    leaked = explicit_law.leakage(MODEL.prior, explicit_law.bounded(MODEL.prior, 40.0))
    draws = simulated(np.random.default_rng(0), 1)
    state, _ = mechanism.step(mechanism.start(1), Inputs(np.array([0])), draws)
    assert state["spent"][0] / UNITS_PER_NAT == pytest.approx(2.0 * leaked, abs=1e-9)
    assert mechanism.guarantees()[0].epsilon == pytest.approx(80.0)


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
