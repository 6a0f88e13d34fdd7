"""Cold start as a mechanism: when it switches, what it keeps, and what it refuses."""

from math import inf, nan

import numpy as np
import pytest

from fugu.operators.budget import Budgeted
from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Inputs, Integers, State
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.distances import HAMMING, Points
from fugu.operators.sip.stream_learning import StreamModels
from tests.conformance.example import EPSILONS, Example, Examples, Unusable
from tests.operators.sip.test_sampler import agrees

THREE = ColdStart(symbols=3, epsilon=1.5, positions=4, when_short="accept")
ROWS = 100_000


PLACES = Points(np.array([[0.0, 0.0], [0.5, 1.0], [4.0, 4.0]]))


def examples(kind: type[ColdStart]) -> tuple[Example, ...]:
    two, three, never = (
        kind(symbols, epsilon, positions, when_short="accept")
        for symbols, epsilon, positions in ((2, 1.0, 2), (3, 2.0, 3), (4, 1.0, 200))
    )
    mechanisms: list[ColdStart | Budgeted] = [
        two,
        three,
        never,
        kind(2, 3.0),
        Budgeted(two, total=4.0),
        Budgeted(three, total=6.5, window=4),
        kind(3, 2.0, 3, when_short="accept", distance=PLACES),
    ]
    return tuple(Example(one, np.arange(one.outcomes[0])) for one in mechanisms)


EXAMPLES: Examples = {ColdStart: examples}
UNUSABLE: Unusable = {
    ColdStart: {
        "symbols": (0, 1, -1, 17),
        "epsilon": (*EPSILONS, 50.1, 1e-20),
        "positions": (-1, 2**20 + 1),
        "alpha": (0.0, -1.0, nan, inf),
    },
}


def followed(mechanism: ColdStart, releases: list[int]) -> State:
    """The state of one stream after these releases."""
    state = mechanism.start(1)
    for release in releases:
        state = mechanism.follow(state, np.array([release]))
    return state


def test_after_the_switch_releases_are_near_in_the_declared_distance() -> None:
    """Two pairs of places: a release may be wrong within a pair at little cost."""
    pairs = Points(np.array([[0.0], [1.0], [9.0], [10.0]]))
    distances, digests = [], set()
    for apart in (HAMMING, pairs):
        cold = ColdStart(4, 0.5, 4, when_short="accept", distance=apart)
        unsure = {**followed(cold, [0, 1, 2, 3]), "belief": np.full((1, 4), 0.25)}
        law = cold.release_law(unsure)[0]
        distances.append(float((0.25 * law * pairs.table(4)).sum()))
        digests.add(cold.law_digest())
    assert distances[1] < 0.9 * distances[0]
    assert len(digests) == 2


def test_points_of_another_number_are_refused() -> None:
    with pytest.raises(ValueError, match="distance: has 3 points, but there are 2 symbols"):
        ColdStart(2, 1.0, 2, when_short="accept", distance=PLACES)


def test_fewer_positions_than_are_enough_are_refused_with_the_number() -> None:
    with pytest.raises(ValueError, match=r"^positions: 4385 releases .* 2 symbols .* 4386 are"):
        ColdStart(symbols=2, epsilon=1.0, positions=4385)
    assert ColdStart(symbols=2, epsilon=1.0).positions == 4386
    assert ColdStart(symbols=2, epsilon=1.0, positions=9000).positions == 9000
    assert ColdStart(2, 1.0, positions=4385, when_short="accept").positions == 4385


@pytest.mark.parametrize(("symbols", "epsilon", "enough"), [(2, 4.0, 232), (4, 2.0, 5594)])
def test_enough_is_what_section_6_says(symbols: int, epsilon: float, enough: int) -> None:
    e = np.exp(epsilon)
    gap = (e - 1) / (e + symbols - 1)
    assert ColdStart(symbols, epsilon).positions == np.ceil(50 * symbols**2 / gap**4) == enough


def test_more_symbols_and_more_memory_than_is_sensible_are_refused_with_a_reason() -> None:
    with pytest.raises(ValueError, match=r"^symbols: must be 2 to 16, not 17: every stream keeps"):
        ColdStart(symbols=17, epsilon=1.0)
    with pytest.raises(ValueError, match=r"^positions: 1\d{8} bytes would be kept"):
        ColdStart(symbols=16, epsilon=1.0)


def test_the_first_releases_are_those_of_randomized_response() -> None:
    """The same words keep or change the same symbols, and say nothing of confidence."""
    response = GeneralizedRandomizedResponse(3, 1.5)
    scope = DrawScope(Secret(bytes(32)), "tests", "op", 1, THREE.law_digest())
    truths: Integers = np.arange(900) % 3
    draws = scope.draws([b"key"] * 900, record_positions("topic", 0, range(900)))
    state, releases = THREE.step(THREE.start(900), Inputs(truths), draws)
    law = response.release_law({"spent": np.zeros(1)})[0]
    for truth in range(3):
        assert agrees(releases.values[truths == truth], 300 * law[truth])
    assert np.isnan(releases.annotations["confidence"]).all()
    assert (state["spent"] == response.largest_charge).all()
    np.testing.assert_allclose(THREE.release_law(THREE.start(1))[0], law, rtol=1e-15)


def test_the_model_is_learned_once_from_the_first_releases_and_never_changes() -> None:
    first = [0, 2, 2, 1]
    learning = followed(THREE, first[:3])
    assert not learning["transition"].any()
    assert learning["responses"].tolist() == [[0, 2, 2, 0]]
    switched = followed(THREE, first)
    models = StreamModels.learned(np.array([first], dtype=np.uint8), 3, THREE.odds, 1.0)
    assert (switched["transition"][0] == models.transition[:, :, 0]).all()
    assert not switched["responses"].any()
    later = followed(THREE, [*first, int(np.argmax(switched["belief"]))])
    assert later["transition"].tobytes() == switched["transition"].tobytes()
    assert later["begun"] == switched["begun"] == 4


def test_a_skipped_position_is_a_gap_and_counts() -> None:
    gap = np.array([0])
    state, releases = THREE.skip(followed(THREE, [0, 1]), gap)
    assert np.isnan(releases.annotations["confidence"]).all()
    assert state["responses"].tolist() == [[0, 1, 3, 0]]
    assert state["spent"] == 2 * THREE.odds.charge
    switched = THREE.follow(state, np.array([2]))
    responses = np.array([[0, 1, 3, 2]], dtype=np.uint8)
    models = StreamModels.learned(responses, 3, THREE.odds, 1.0)
    assert (switched["belief"][0] == models.belief_after(responses, THREE.odds)[:, 0]).all()
    skipped, releases = THREE.skip(switched, gap)
    assert releases.annotations["confidence"] == switched["belief"][0, 0]
    assert (skipped["belief"][0] == models.predict(switched["belief"].T)[:, 0]).all()


@pytest.mark.parametrize("truth", range(3))
def test_keyed_draws_give_the_law_of_every_truth_after_the_switch(truth: int) -> None:
    """10^5 streams with one past; a sound sampler fails with 3 * 10^-4."""
    one = followed(THREE, [1, 1, 1, 2])
    state = {name: np.repeat(column, ROWS, axis=0) for name, column in one.items()}
    scope = DrawScope(Secret(bytes(range(32))), "tests", "op", 1, THREE.law_digest())
    draws = scope.draws([b"key"] * ROWS, record_positions("topic", 0, range(ROWS)))
    _, releases = THREE.step(state, Inputs(np.full(ROWS, truth)), draws)
    law = THREE.release_law(one)[0]
    assert len(np.unique(law.round(12), axis=0)) > 1
    assert agrees(releases.values, ROWS * law[truth])


def test_a_model_from_enough_releases_makes_later_ones_better_than_randomized_response() -> None:
    """Streams that keep their symbol nine times out of ten; the same epsilon throughout."""
    rng, rows, epsilon = np.random.default_rng(4), 200, 3.0
    mechanism = ColdStart(symbols=2, epsilon=epsilon)
    scope = DrawScope(Secret(bytes(32)), "tests", "op", 1, mechanism.law_digest())
    truth, state, wrong = rng.integers(2, size=rows), mechanism.start(rows), []
    steps = mechanism.positions + 150
    for step in range(steps):
        truth = np.where(rng.random(rows) < 0.9, truth, 1 - truth)
        draws = scope.draws([b"key %d" % row for row in range(rows)], [b"%d" % step] * rows)
        state, releases = mechanism.step(state, Inputs(truth), draws)
        wrong.append(float((releases.values != truth).mean()))
    before, after = wrong[: mechanism.positions], wrong[mechanism.positions :]
    assert np.mean(before) == pytest.approx(1 / (np.exp(epsilon) + 1), abs=0.005)
    assert np.mean(after) < 0.5 * np.mean(before)
    assert in_nats(int(state["spent"].max())) <= steps * in_nats(mechanism.largest_charge)
