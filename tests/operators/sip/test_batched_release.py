"""Batched release position by position: what is held back, released, erased and charged."""

import numpy as np
import pytest

from fugu.operators.budget import Budgeted
from fugu.operators.budget_units import units_of
from fugu.operators.mechanism import AT_THE_END, Inputs, Integers, Kind, Releases, State
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.distances import Points
from fugu.operators.sip.inputs import NEVER, Gaps
from fugu.operators.sip.markov_model import MarkovModel
from tests.conformance.example import EPSILONS, Example, Examples, Unusable
from tests.conformance.streams import WatchedDraws
from tests.operators.sip.chains import random_second_order, sparse
from tests.operators.sip.small_models import only, sticky
from tests.privacy.chains import binary, random_chain

MODEL = binary(stays=0.9, first=0.5)
TRIPLES = BatchedRelease(MODEL, window=3, epsilon_per_batch=3.0)


def examples(kind: type[BatchedRelease]) -> tuple[Example, ...]:
    walk = MarkovModel.smoothed([0.3, 0.3, 0.2, 0.1, 0.1], 0.8 * np.eye(5) + 0.04, 0.05)
    threes = kind(sticky(), 3, 3.0, kernel="heuristic")
    pairs, two = random_second_order(2, 3, seed=1).model(), np.arange(2)
    in_time = kind(pairs, 3, 3.0, kernel="heuristic", gaps=Gaps(1_000, longest=5))
    return (
        Example(kind(sticky(), 2, 2.0), two),
        Example(threes, two),
        Example(kind(sticky(), 1, 1.0, kernel="heuristic"), two),
        Example(kind(only(), 2, 1.0), np.arange(1)),
        Example(kind(walk, 6, 12.0, kernel="heuristic"), np.arange(5)),
        Example(kind(pairs, 2, 2.0), two),
        Example(kind(sparse(walk), 2, 4.0, kernel="heuristic"), np.arange(5)),
        Example(in_time, two),
        Example(Budgeted(in_time, total=6.0), two),
        Example(Budgeted(threes, total=6.0), two),
        Example(Budgeted(threes, total=3.5, window=5, when_exhausted="suppress"), two),
    )


EXAMPLES: Examples = {BatchedRelease: examples}
UNUSABLE: Unusable = {
    BatchedRelease: {"window": (0, -1, 33), "epsilon_per_batch": (*EPSILONS, 50.1)},
}


def run(
    mechanism: BatchedRelease | Budgeted, truth: list[list[int]], *, first: int = 0
) -> tuple[State, list[Releases], list[State]]:
    """Feed `truth`, one list of rows per position; the states are those after each position."""
    rows = len(truth[0])
    state, releases, states = mechanism.start(rows), [], []
    for position, symbols in enumerate(truth, start=first):
        state, released = mechanism.step(state, Inputs(np.array(symbols)), draws(rows, position))
        releases.append(released)
        states.append(state)
    return state, releases, states


def draws(rows: int, position: int) -> WatchedDraws:
    scope = DrawScope(Secret(bytes(32)), "p", "o", 1, TRIPLES.law_digest())
    keys = [b"%d" % row for row in range(rows)]
    return WatchedDraws(scope.draws(keys, record_positions("t", 0, [position] * rows)))


def kinds(releases: Releases) -> Integers:
    assert releases.kinds is not None
    return releases.kinds


def test_only_the_last_position_of_a_batch_publishes() -> None:
    _, releases, states = run(TRIPLES, [[0, 1], [1, 1], [1, 1], [0, 0]])
    published = [kinds(released).tolist() for released in releases]
    silent, fresh = [Kind.SUPPRESSED] * 2, [Kind.FRESH] * 2
    assert published == [silent, silent, fresh, silent]
    assert releases[2].values.shape == (2, 3)
    assert [state["held"].tolist() for state in states] == [[1, 1], [2, 2], [0, 0], [1, 1]]
    assert states[0]["spent"].max() == states[1]["spent"].max() == 0
    assert (states[2]["spent"] == states[3]["spent"]).all()


def test_what_was_held_back_is_erased_by_the_release() -> None:
    _, _, states = run(TRIPLES, [[1], [1], [1]])
    assert [state["pending"].tolist() for state in states] == [[[1, 0]], [[1, 1]], [[0, 0]]]


def test_streams_may_stand_at_different_positions_of_a_batch() -> None:
    one, _, _ = run(TRIPLES, [[1], [0]])
    other, _, _ = run(TRIPLES, [[1]])
    mixed = {name: np.concatenate([one[name], other[name]]) for name in one}
    _, releases = TRIPLES.step(mixed, Inputs(np.array([1, 1])), draws(2, 2))
    (alone,) = TRIPLES.step(one, Inputs(np.array([1])), draws(1, 2))[1:]
    assert kinds(releases).tolist() == [Kind.FRESH, Kind.SUPPRESSED]
    assert (releases.values[0] == alone.values[0]).all()


def test_the_charge_is_known_at_every_position_of_the_batch_before_it() -> None:
    state, _, states = run(TRIPLES, [[0], [1], [1], [0], [1], [1]])
    start = TRIPLES.next_charge(TRIPLES.start(1))
    assert (TRIPLES.next_charge(states[0]) == start).all()
    assert (TRIPLES.next_charge(states[1]) == start).all()
    assert (states[2]["spent"] == start).all()
    assert (state["spent"] - start == TRIPLES.next_charge(states[2])).all()
    assert start.max() <= TRIPLES.largest_charge


def test_draws_are_bound_to_the_whole_batch_and_to_what_was_released_before() -> None:
    """With so much epsilon that other truths are other releases."""
    triples, bound = BatchedRelease(MODEL, window=3, epsilon_per_batch=40.0), []
    for earlier in ([0, 0, 0], [1, 1, 1]):
        for batch in ([0, 0, 1], [1, 0, 1], [0, 0, 0]):
            state, _, _ = run(triples, [[symbol] for symbol in [*earlier, *batch[:2]]])
            watched = draws(1, 5)
            triples.step(state, Inputs(np.array(batch[2:])), watched)
            bound.append((watched.bindings[0][0], state["history"][0]))
    assert len(set(bound)) == len(bound)
    assert bound[0][1] == bound[1][1] != bound[3][1]


def test_a_reader_follows_with_the_releases_alone() -> None:
    state, releases, _ = run(TRIPLES, [[0, 1], [1, 1], [1, 0], [0, 0], [1, 0], [1, 0]])
    reader = TRIPLES.start(2)
    for released in releases:
        if (kinds(released) == Kind.FRESH).all():
            reader, learned = TRIPLES.observe(reader, released.values)
            right = np.take_along_axis(learned, released.values[:, :, None], axis=2)
            confidence = released.annotations["confidence"]
            assert right.mean(axis=(1, 2)) == pytest.approx(confidence)
    for name, column in state.items():
        assert reader[name].tobytes() == column.tobytes()


def test_a_final_batch_is_shorter_and_takes_its_share_of_epsilon() -> None:
    """Rows hold 2, 1 and 0 symbols; what is released of 2 is what a mechanism for pairs does."""
    quads = BatchedRelease(MODEL, window=4, epsilon_per_batch=4.0)
    pairs = BatchedRelease(MODEL, window=2, epsilon_per_batch=2.0)
    two, _, _ = run(quads, [[1], [1]])
    one, _, _ = run(quads, [[1]])
    state = {name: np.concatenate([two[name], one[name], quads.start(1)[name]]) for name in two}
    after, releases = quads.finish(state, draws(3, 2))
    assert kinds(releases).tolist() == [Kind.FRESH, Kind.FRESH, Kind.SUPPRESSED]
    assert (releases.values[0, 2:] == -1).all()
    assert (releases.values[1, 1:] == -1).all()
    assert set(releases.values[0, :2].tolist()) <= {0, 1}
    assert after["held"].tolist() == [0, 0, 0]
    assert not after["pending"].any()
    assert after["spent"][0] == pairs.next_charge(pairs.start(1))[0]
    assert 0 < after["spent"][1] <= units_of(1.0)
    assert after["spent"][2] == 0
    as_pair, _ = pairs.observe(pairs.start(1), releases.values[:1, :2])
    assert as_pair["belief"] == pytest.approx(after["belief"][:1], abs=1e-12)
    assert as_pair["history"].tobytes() == after["history"][:1].tobytes()
    reader, learned = quads.observe(quads.start(2), releases.values[:2])
    assert np.isnan(learned[0, 2:]).all()
    assert np.isfinite(learned[0, :2]).all()
    for name, column in reader.items():
        assert column.tobytes() == after[name][:2].tobytes()


def test_a_skip_forgets_what_is_held_and_predicts_past_it() -> None:
    state, _, _ = run(TRIPLES, [[0], [1], [1], [0]])
    skipped, releases = TRIPLES.skip(state, np.array([[1, 1, 1]]))
    belief = MODEL.predict(MODEL.predict(state["belief"].T))
    assert skipped["belief"].tobytes() == belief.T.tobytes()
    assert (skipped["held"].tolist(), skipped["pending"].tolist()) == ([0], [[0, 0]])
    assert skipped["spent"].tolist() == state["spent"].tolist()
    assert skipped["history"] != state["history"]
    assert np.isnan(releases.annotations["confidence"]).all()


def test_a_budget_ends_between_batches_and_repeats_the_last_one() -> None:
    budgeted = Budgeted(TRIPLES, total=6.0)
    state, releases, _ = run(budgeted, [[1]] * 12)
    published = [kinds(released)[0] for released in releases]
    batch = [Kind.SUPPRESSED, Kind.SUPPRESSED, Kind.FRESH]
    assert published[:6] == batch * 2
    ended = published.index(Kind.REPEATED)
    assert published[:ended] == batch * (ended // 3)
    assert set(published[ended:]) == {Kind.REPEATED}
    for repeated in releases[ended:]:
        assert (repeated.values == releases[ended - 1].values).all()
    assert budgeted.level(state).tolist() == [AT_THE_END]
    assert state["spent"].max() <= units_of(6.0 * (1 + 1e-9))
    assert not state["pending"].any()


def test_a_budget_over_a_window_of_positions_counts_batches() -> None:
    budgeted = Budgeted(TRIPLES, total=3.5, window=5, when_exhausted="suppress")
    _, _, states = run(budgeted, [[1]] * 30)
    spent = np.array([0] * 5 + [int(state["spent"][0]) for state in states])
    assert (spent[5:] - spent[:-5]).max() <= units_of(3.5 * (1 + 1e-9))
    assert spent[-1] > 4 * units_of(2.0)


@pytest.mark.parametrize("symbols", [7, 40])
def test_large_alphabets_are_released_by_whichever_algorithm_is_cheapest(symbols: int) -> None:
    rng = np.random.default_rng(symbols)
    mechanism = BatchedRelease(random_chain(rng, symbols), 3, 3 * 2.0)
    truth = rng.integers(symbols, size=(3, 4))
    state, releases, _ = run(mechanism, truth.tolist())
    assert (kinds(releases[-1]) == Kind.FRESH).all()
    assert ((releases[-1].values >= 0) & (releases[-1].values < symbols)).all()
    assert (state["spent"] <= mechanism.largest_charge).all()
    assert state["belief"].sum(axis=1) == pytest.approx(1.0)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^distance: has 3 points, but there are 2 symbols"):
        BatchedRelease(MODEL, 2, 1.0, Points(np.zeros((3, 1))))
    with pytest.raises(ValueError, match=r"a symbol index is outside 0\.\.1"):
        TRIPLES.step(TRIPLES.start(1), Inputs(np.array([2])), draws(1, 0))
    damaged, _, _ = run(TRIPLES, [[1], [1]])
    damaged["belief"] = damaged["belief"] / 2
    with pytest.raises(ValueError, match="the belief of row 0 is not a distribution"):
        TRIPLES.step(damaged, Inputs(np.array([1])), draws(1, 2))


def test_a_certain_alphabet_costs_nothing() -> None:
    only = BatchedRelease(MarkovModel(np.ones(1), np.ones((1, 1))), 32, 1.0)
    state, releases, _ = run(only, [[0]] * 32)
    assert state["spent"].tolist() == [0]
    assert releases[-1].values.tolist() == [[0] * 32]
    assert releases[-1].annotations["confidence"].tolist() == [1.0]


GAPS = Gaps(step_milliseconds=60_000, longest=40)
IN_TIME = BatchedRelease(MODEL, window=3, epsilon_per_batch=40.0, gaps=GAPS)


def run_in_time(ticks: list[int], *, symbol: int = 1) -> tuple[State, list[Releases]]:
    """One stream with a record at each tick."""
    state, releases = IN_TIME.start(1), []
    for position, tick in enumerate(ticks):
        state = IN_TIME.elapse(state, np.array([tick]))
        state, released = IN_TIME.step(state, Inputs(np.array([symbol])), draws(1, position))
        releases.append(released)
    return state, releases


def test_a_gap_within_a_batch_waits_for_its_law_and_one_before_it_is_predicted() -> None:
    state, _ = run_in_time([100])
    assert state["belief"].tolist() == [MODEL.prior.tolist()], "the first record predicts nothing"
    held = IN_TIME.elapse(state, np.array([103]))
    assert held["belief"].tolist() == state["belief"].tolist()
    assert (held["steps"].tolist(), held["tick"].tolist()) == ([[3, 1]], [103])
    assert IN_TIME.elapse(state, np.array([10**9]))["steps"].tolist() == [[40, 1]]
    late = IN_TIME.elapse(state, np.array([90]))
    assert (late["steps"].tolist(), late["tick"].tolist()) == ([[1, 1]], [100])
    released, _ = run_in_time([100, 103, 90])
    assert released["steps"].tolist() == [[1, 1]], "the next batch begins"
    later = IN_TIME.elapse(released, np.array([105]))
    belief = MODEL.predict(released["belief"].T.copy()).T
    assert later["belief"].tolist() == belief.tolist()
    assert later["steps"].tolist() == [[1, 1]]


def test_the_same_batch_after_other_gaps_does_not_meet_the_same_word() -> None:
    """Another gap, or the same one at another position, is another law."""
    bound = []
    for ticks in ([0, 1, 2], [0, 5, 6], [0, 1, 6], [0, 5, 10], [0, 1, 6 + 10**6], [0, 1, 41]):
        state, _ = run_in_time(ticks[:2])
        watched = draws(1, 2)
        IN_TIME.step(IN_TIME.elapse(state, np.array(ticks[2:])), Inputs(np.array([1])), watched)
        bound.append(watched.bindings[0][0])
    assert bound[-1] == bound[-2], "gaps that count alike are the same draw"
    assert len(set(bound)) == 5


def test_a_skip_predicts_past_the_gaps_of_what_is_held() -> None:
    state, _ = run_in_time([0, 4])
    skipped, _ = IN_TIME.skip(state, np.array([[0, 0, 0]]))
    belief = MODEL.prior[:, None]
    for _ in range(4 + 1):
        belief = MODEL.predict(belief)
    assert skipped["belief"] == pytest.approx(belief.T, abs=1e-12)
    assert (skipped["steps"].tolist(), skipped["tick"].tolist()) == ([[1, 1]], [4])


def test_an_unfinished_batch_is_released_with_its_gaps() -> None:
    """As a mechanism for pairs releases a whole batch with the same gap."""
    pairs = BatchedRelease(MODEL, window=2, epsilon_per_batch=40.0 * 2 / 3, gaps=GAPS)
    state, _ = run_in_time([0, 7])
    finished, releases = IN_TIME.finish(state, draws(1, 9))
    own = pairs.elapse(pairs.start(1), np.array([0]))
    own = pairs.elapse({**own, "held": np.array([1])}, np.array([7]))
    own, _ = pairs.observe(own, releases.values[:, :2])
    assert finished["belief"] == pytest.approx(own["belief"], abs=1e-12)
    assert finished["steps"].tolist() == [[1, 1]]


def test_a_budget_counts_the_most_that_a_batch_may_cost_before_its_gaps_are_known() -> None:
    state, _ = run_in_time([0, 7])
    assert IN_TIME.next_charge(state).tolist() == [IN_TIME.largest_charge]
    _, releases = run_in_time([0, 7, 8])
    assert kinds(releases[-1]).tolist() == [Kind.FRESH]


def test_no_rows_are_skipped_in_time_and_without() -> None:
    """Readers skip those of a round that say nothing: often none."""
    for mechanism in (TRIPLES, IN_TIME):
        after, _ = mechanism.skip(mechanism.start(0), np.zeros((0, 3), dtype=np.int64))
        assert {name: len(column) for name, column in after.items()} == dict.fromkeys(after, 0)


def test_states_count_time_only_where_it_counts() -> None:
    assert not {"tick", "steps"} & TRIPLES.start(1).keys()
    assert TRIPLES.tick_milliseconds is None
    state = TRIPLES.start(1)
    assert TRIPLES.elapse(state, np.array([7])) is state
    assert IN_TIME.start(1)["tick"].tolist() == [NEVER]
    assert IN_TIME.law_digest() != BatchedRelease(MODEL, 3, 40.0).law_digest()
