"""Gaps: how many steps they are, what they do to a state, and what draws are bound to."""

import numpy as np
import pytest

from fugu.operators.budget import Budgeted
from fugu.operators.mechanism import Array, Inputs, Integers, Kind, State
from fugu.operators.noise.number_release import LaplaceRelease
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.inputs import Gaps
from fugu.operators.sip.markov_model import Chain, MarkovModel
from fugu.operators.sip.second_order_model import SecondOrderModel
from fugu.operators.sip.sparse_models import SparseMarkovModel
from tests.conformance.streams import WatchedDraws
from tests.operators.sip.chains import random_second_order, sparse

WALK = MarkovModel.smoothed(
    [0.5, 0.3, 0.2], [[0.8, 0.2, 0.0], [0.1, 0.8, 0.1], [0.0, 0.3, 0.7]], smoothing=0.01
)
GAPS = Gaps(step_milliseconds=60_000, longest=40)
CRR = ConditionalRandomizedResponse(WALK, epsilon=1.0, gaps=GAPS)
SCOPE = DrawScope(Secret(bytes(range(32))), "p", "crr", 1, bytes(32))


def at(*ticks: int) -> Integers:
    return np.array(ticks, dtype=np.int64)


def released(rows: int, tick: int = 100, mechanism: ConditionalRandomizedResponse = CRR) -> State:
    """After the first release of `rows` streams, each of another symbol."""
    state = mechanism.elapse(mechanism.start(rows), np.full(rows, tick))
    return mechanism.follow(state, np.arange(rows) % mechanism.model.symbols)


def predicted(state: State, steps: int, model: Chain = WALK) -> Array:
    belief = state["belief"].T.copy()
    for _ in range(steps):
        belief = model.skip(belief)
    return belief.T


def test_the_first_record_predicts_nothing_whenever_it_comes() -> None:
    for tick in (-5, 0, 10**12):
        state = CRR.elapse(CRR.start(1), at(tick))
        assert state["belief"].tolist() == [WALK.prior.tolist()]
        assert state["tick"].tolist() == [tick]
        assert state["history"].tolist() == [0]


def test_a_gap_is_one_prediction_for_each_step_that_no_record_showed() -> None:
    before = released(6)
    after = CRR.elapse(before, at(99, 100, 101, 102, 139, 140))
    missed = [0, 0, 0, 1, 38, 39]
    for row, steps in enumerate(missed):
        assert after["belief"][row].tolist() == predicted(before, steps)[row].tolist()
    assert after["tick"].tolist() == [100, 100, 101, 102, 139, 140]
    assert after["spent"].tolist() == before["spent"].tolist(), "time is free"


def test_a_longer_gap_counts_as_the_longest() -> None:
    before = released(3)
    after = CRR.elapse(before, at(140, 141, 2**62))
    assert after["belief"].tolist() == predicted(before, 39).tolist()
    assert after["tick"].tolist() == [140, 141, 2**62]


def test_time_that_goes_backwards_is_one_step_and_does_not_come_again() -> None:
    """From tick 100 back to 50 and then to 101: the last of them is one step from 100."""
    state = CRR.follow(CRR.elapse(released(1), at(50)), at(1))
    assert state["tick"].tolist() == [100]
    later = CRR.elapse(state, at(101))
    assert later["belief"].tolist() == state["belief"].tolist()


def test_a_longest_gap_of_one_step_is_a_model_without_time_from_record_to_record() -> None:
    short = ConditionalRandomizedResponse(WALK, 1.0, gaps=Gaps(60_000, longest=1))
    before = released(3, mechanism=short)
    after = short.elapse(before, at(100, 105, 10**6))
    assert after["belief"].tolist() == before["belief"].tolist()


@pytest.mark.parametrize(
    "model",
    [WALK, sparse(WALK), random_second_order(3, 5, seed=2).model()],
    ids=["dense", "sparse", "second order"],
)
def test_one_row_alone_and_among_many_has_the_same_bytes(
    model: MarkovModel | SparseMarkovModel | SecondOrderModel,
) -> None:
    mechanism = ConditionalRandomizedResponse(model, 1.0, mode="full_support", gaps=GAPS)
    before = released(50, mechanism=mechanism)
    ticks = 95 + np.random.default_rng(3).integers(0, 60, size=50)
    after = mechanism.elapse(before, ticks)
    for row in range(50):
        alone = mechanism.elapse({n: c[[row]] for n, c in before.items()}, ticks[[row]])
        assert {n: c[0].tobytes() for n, c in alone.items()} == {
            n: c[row].tobytes() for n, c in after.items()
        }


def test_a_damaged_belief_is_refused_before_prediction_makes_it_whole() -> None:
    state = released(2)
    state["belief"] = state["belief"] * np.array([[1.0], [0.5]])
    with pytest.raises(ValueError, match="the belief of row 1 is not a distribution"):
        CRR.elapse(state, at(110, 110))


def bindings_after(*ticks: int) -> list[bytes]:
    """Return what the next draw is bound to, for each tick at which the record may come."""
    rows = len(ticks)
    once = released(1)
    state = CRR.elapse({n: np.repeat(c, rows, axis=0) for n, c in once.items()}, at(*ticks))
    draws = WatchedDraws(SCOPE.draws([b"key"] * rows, record_positions("t", 0, [1] * rows)))
    CRR.step(state, Inputs(np.zeros(rows, dtype=np.int64)), draws)
    [bindings] = draws.bindings
    return list(bindings)


def test_a_truth_after_another_gap_does_not_meet_the_same_word() -> None:
    """Another gap is another law; gaps that count as the same one are the same draw."""
    one, same, two, three, capped, longest = bindings_after(101, 90, 102, 103, 10**6, 140)
    assert one == same
    assert capped == longest
    assert len({one, two, three, longest}) == 4


def test_a_stream_that_is_exhausted_for_good_knows_no_time() -> None:
    budgeted = Budgeted(CRR, total=1.0)
    state = budgeted.elapse(budgeted.start(2), at(7, 7))
    for tick in (8, 9, 30, 31):
        state = budgeted.elapse(state, at(tick, tick))
        state = budgeted.follow(state, np.zeros(2, dtype=np.int64))
    assert budgeted.exhausted(state).all()
    assert state["tick"].tolist() == CRR.start(2)["tick"].tolist()
    later = budgeted.elapse(state, at(99, 100))
    assert {n: c.tobytes() for n, c in later.items()} == {n: c.tobytes() for n, c in state.items()}


def kinds_of(budgeted: Budgeted, ticks: list[int]) -> list[int]:
    state, kinds = budgeted.start(1), []
    for offset, tick in enumerate(ticks):
        state = budgeted.elapse(state, at(tick))
        draws = SCOPE.draws([b"key"], record_positions("t", 0, [offset]))
        state, releases = budgeted.step(state, Inputs(at(1)), draws)
        assert releases.kinds is not None
        kinds.append(int(releases.kinds[0]))
    return kinds


def test_a_window_counts_records_and_not_steps() -> None:
    full = ConditionalRandomizedResponse(WALK, 1.0, mode="full_support", gaps=GAPS)
    budgeted = Budgeted(full, total=1.0, window=3)
    expected = [Kind.FRESH, Kind.REPEATED, Kind.REPEATED] * 2
    assert kinds_of(budgeted, [0, 1, 2, 3, 4, 5]) == expected
    assert kinds_of(budgeted, [0, 30, 60, 90, 120, 150]) == expected


def test_a_mechanism_says_whether_time_matters_to_it() -> None:
    untimed = ConditionalRandomizedResponse(WALK, epsilon=1.0)
    laplace = LaplaceRelease(lower=0, upper=10, epsilon=1.0)
    assert [m.tick_milliseconds for m in (CRR, Budgeted(CRR, total=1.0))] == [60_000, 60_000]
    for other in (untimed, Budgeted(untimed, total=1.0), Budgeted(laplace, total=1.0)):
        assert other.tick_milliseconds is None
        state = other.start(2)
        assert "tick" not in state
        later = other.elapse(state, at(1, 900))
        assert {n: c.tolist() for n, c in later.items()} == {
            n: c.tolist() for n, c in state.items()
        }


def test_without_gaps_the_law_is_what_it_was_before_there_were_any() -> None:
    """State that is kept under this digest goes on; each declaration has one of its own."""
    model = MarkovModel(np.array([0.5, 0.5]), np.array([[0.75, 0.25], [0.25, 0.75]]))
    digest = ConditionalRandomizedResponse(model, epsilon=1.0).law_digest().hex()
    assert digest == "d3ade41c1a518f21b6762139efcfef29447294b313f454e69b207ed139837b80"
    others = [Gaps(1_000, 10), Gaps(1_000, 11), Gaps(1_001, 10)]
    laws = {ConditionalRandomizedResponse(model, 1.0, gaps=gaps).law_digest() for gaps in others}
    assert len(laws) == 3


def test_the_promise_relative_to_the_model_says_how_gaps_count() -> None:
    sip, ldp = CRR.guarantees()
    untimed = ConditionalRandomizedResponse(WALK, epsilon=1.0).guarantees()
    assert sip.epsilon == untimed[0].epsilon
    said = str(sip.adversary)
    assert "in steps of 1 min: between two records at least one, and at most 40" in said
    assert sip.adversary.numbers == (("step_milliseconds", 60_000), ("longest", 40))
    assert any("times of accepted records" in str(line) for line in sip.assumptions)
    assert ldp == untimed[1], "the figure without a model knows no time"


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [(1, "1 ms"), (1_500, "1500 ms"), (90_000, "90 s"), (7_200_000, "2 h"), (86_400_000, "1 d")],
)
def test_a_length_is_said_in_its_largest_whole_unit(milliseconds: int, words: str) -> None:
    assert str(Gaps(milliseconds, 5)).startswith(f"in steps of {words}: ")


@pytest.mark.parametrize(
    ("milliseconds", "longest", "says"),
    [
        (0, 5, "step_milliseconds: must be at least 1 millisecond, not 0"),
        (1_000, 0, "longest: must be 1..10000 steps, not 0"),
        (1_000, 10_001, "longest: must be 1..10000 steps, not 10001"),
    ],
)
def test_gaps_that_cannot_be_are_refused_naming_the_field(
    milliseconds: int, longest: int, says: str
) -> None:
    with pytest.raises(ValueError, match=f"^{says}$"):
        Gaps(milliseconds, longest)
