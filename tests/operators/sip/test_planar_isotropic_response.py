"""PIM over symbols: what is drawn, what readers may believe afterwards, and what is refused."""

from itertools import product

import numpy as np
import pytest

from fugu.operators.auditing.enumeration import stream_probabilities
from fugu.operators.budget import Budgeted
from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Floats, Inputs, State
from fugu.operators.randomness import DrawScope, KeyedDraws, Secret, record_positions
from fugu.operators.sip.distances import Hamming, Ordered, Points
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.planar_isotropic_response import (
    LocationSets,
    PlanarIsotropicResponse,
    by_distance,
)
from tests.conformance.example import EPSILONS, Example, Examples, Unusable
from tests.operators.noise.simulated import SMALLEST_P_VALUE, p_value
from tests.operators.sip.small_models import cycle, only, second_order, sparse, sticky

ROWS = 20_000
SQUARE = Points(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))
WALK = MarkovModel.smoothed(
    [0.4, 0.3, 0.2, 0.1],
    [[0.7, 0.15, 0.15, 0], [0.15, 0.7, 0, 0.15], [0.15, 0, 0.7, 0.15], [0, 0.15, 0.15, 0.7]],
    smoothing=0.02,
)
PIM = PlanarIsotropicResponse(WALK, epsilon=1.0, delta=0.15, distance=SQUARE)


def examples(kind: type[PlanarIsotropicResponse]) -> tuple[Example, ...]:
    ordered = kind(sticky(), 1.0, 0.2, Ordered())
    placed = kind(WALK, 0.5, 0.3, SQUARE)
    mechanisms: list[PlanarIsotropicResponse | Budgeted] = [
        ordered,
        placed,
        kind(cycle(), 0.1, 0.05, Ordered()),
        kind(sparse(), 30.0, 0.01, SQUARE),
        kind(second_order(), 2.0, 0.4, Ordered()),
        Budgeted(placed, total=2.0),
        Budgeted(ordered, total=2.0, window=4),
    ]
    return tuple(Example(one, np.arange(one.outcomes[0])) for one in mechanisms)


EXAMPLES: Examples = {PlanarIsotropicResponse: examples}
UNUSABLE: Unusable = {
    PlanarIsotropicResponse: {
        "epsilon": (*EPSILONS, 50.1, 1e-20),
        "delta": (0.0, 1.0, -0.1, float("nan")),
    },
}


def draws(rows: int = ROWS) -> KeyedDraws:
    scope = DrawScope(Secret(bytes(range(32))), "tests", "pim", 1, PIM.law_digest())
    return scope.draws([b"key"] * rows, record_positions("topic", 0, range(rows)))


def after(mechanism: PlanarIsotropicResponse, released: tuple[int, ...], rows: int = 1) -> State:
    state = mechanism.start(rows)
    for symbol in released:
        state = mechanism.follow(state, np.full(rows, symbol))
    return state


@pytest.mark.parametrize("released", [(), (0,), (3, 3), (0, 1, 0)])
@pytest.mark.parametrize("truth", range(4))
def test_keyed_draws_give_the_law_of_every_truth(truth: int, released: tuple[int, ...]) -> None:
    state = after(PIM, released, ROWS)
    law = PIM.release_law(state)[0, truth]
    drawn = PIM.step(state, Inputs(np.full(ROWS, truth)), draws())[1].values
    members = np.flatnonzero(law)
    assert np.isin(drawn, members).all()
    if len(members) > 1:
        assert p_value(np.searchsorted(members, drawn), law[members]) > SMALLEST_P_VALUE


def test_a_cell_outside_the_set_is_released_as_the_nearest_member() -> None:
    pim = PlanarIsotropicResponse(WALK, epsilon=1.0, delta=0.35, distance=SQUARE)
    law = pim.release_law(pim.start(1))[0]
    assert (law[0] > 0).tolist() == [True, True, False, False]
    assert law[2].tolist() == law[0].tolist(), "cell 2 is next to cell 0"
    assert law[3].tolist() == law[1].tolist(), "cell 3 is next to cell 1"


@pytest.mark.parametrize("delta", [0.02, 0.2, 0.45])
def test_the_belief_is_bayes_rule_over_all_paths_through_all_cells(delta: float) -> None:
    """To 1e-12, although a set leaves cells out: they count as their surrogates."""
    pim = PlanarIsotropicResponse(WALK, epsilon=0.8, delta=delta, distance=SQUARE)
    prior = stream_probabilities(WALK, 4).reshape(4, 4, 4, 4)
    for released in product(range(4), repeat=3):
        joint, state, possible = prior.copy(), pim.start(1), True
        for position, symbol in enumerate(released):
            likelihood = pim.release_law(state)[0, :, symbol]
            possible = possible and bool(likelihood.any())
            if not possible:
                break
            joint = joint * likelihood.reshape([-1 if axis == position else 1 for axis in range(4)])
            state, posterior = pim.observe(state, np.array([symbol]))
            others = tuple(axis for axis in range(4) if axis != position)
            assert posterior[0] == pytest.approx(joint.sum(axis=others) / joint.sum(), abs=1e-12)
        if possible:
            next_ = joint.sum(axis=(0, 1, 2)) / joint.sum()
            assert state["belief"][0] == pytest.approx(next_, abs=1e-12)


def test_confidence_is_the_share_of_right_releases() -> None:
    """The model draws the truths, so it is right about them."""
    rng = np.random.default_rng(5)
    state = PIM.start(ROWS)
    truth = rng.choice(4, size=ROWS, p=WALK.prior)
    for _ in range(3):
        state, releases = PIM.step(state, Inputs(truth), draws())
        right, expected = releases.values == truth, releases.annotations["confidence"]
        assert right.mean() == pytest.approx(expected.mean(), abs=4 * 0.5 / np.sqrt(ROWS))
        jumps = (rng.random(ROWS)[:, None] > np.cumsum(WALK.transition[truth], axis=1)).sum(axis=1)
        truth = np.minimum(jumps, 3)


def test_a_set_of_one_cell_releases_it_for_free_and_others_cost_what_their_law_does() -> None:
    certain = PlanarIsotropicResponse(sticky(), epsilon=40.0, delta=0.2, distance=Ordered())
    state = after(certain, (0,))
    assert certain.next_charge(certain.start(1)).tolist() == [certain.largest_charge]
    assert certain.next_charge(state).tolist() == [0]
    stepped, releases = certain.step(state, Inputs(np.array([1])), draws(1))
    assert releases.values.tolist() == [0]
    assert stepped["spent"].tolist() == state["spent"].tolist()


def test_a_budget_ends_the_stream_after_as_many_releases_as_it_pays_for() -> None:
    budgeted = Budgeted(PIM, total=3.0, when_exhausted="suppress")
    state = budgeted.start(1)
    for position in range(5):
        assert budgeted.pays(state).tolist() == [position < 3]
        state, _ = budgeted.step(state, Inputs(np.array([position % 4])), draws(1))
    [promised] = budgeted.guarantees()
    assert promised.per == "stream"
    assert promised.epsilon == pytest.approx(3.0, rel=1e-8)
    assert in_nats(int(state["spent"][0])) <= promised.epsilon


def test_what_it_cannot_be_is_refused_naming_the_field() -> None:
    with pytest.raises(ValueError, match=r"^model: must have 2 to 1024 cells, not 1"):
        PlanarIsotropicResponse(only(), 1.0, 0.1, Ordered())
    with pytest.raises(ValueError, match=r"^distance: hamming has no nearest cell"):
        PlanarIsotropicResponse(WALK, 1.0, 0.1, Hamming())
    with pytest.raises(ValueError, match=r"outside 0\.\.3"):
        PIM.step(PIM.start(1), Inputs(np.array([4])), draws(1))


def test_the_law_digest_changes_with_everything_that_changes_the_law() -> None:
    laws = [
        PIM,
        PlanarIsotropicResponse(WALK, 1.1, 0.15, SQUARE),
        PlanarIsotropicResponse(WALK, 1.0, 0.16, SQUARE),
        PlanarIsotropicResponse(WALK, 1.0, 0.15, Ordered()),
        PlanarIsotropicResponse(sparse(), 1.0, 0.15, SQUARE),
    ]
    assert len({law.law_digest() for law in laws}) == len(laws)


# Delta-location sets against their definition, cell by cell.


def defined(belief: list[float], mass: float) -> list[int]:
    """Take the most likely cells, ties by index, until they hold so much."""
    ranked = sorted(range(len(belief)), key=lambda cell: (-belief[cell], cell))
    held = 0.0
    for number, cell in enumerate(ranked, start=1):
        held += belief[cell]
        if held >= mass:
            return ranked[:number]
    return ranked


def beliefs(rng: np.random.Generator, cells: int, rows: int) -> Floats:
    """Some of them with ties."""
    some = rng.dirichlet(np.full(cells, 0.5), rows // 2).T
    coarse = rng.integers(1, 4, size=(cells, rows - rows // 2)).astype(np.float64)
    return np.ascontiguousarray(np.hstack([some, coarse / coarse.sum(axis=0)]))


@pytest.mark.parametrize("mass", [1e-9, 0.5, 0.9, 1.0 - 1e-12])
@pytest.mark.parametrize("cells", [2, 5, 9])
def test_a_set_is_the_smallest_of_likely_cells_that_holds_the_mass(cells: int, mass: float) -> None:
    belief = beliefs(np.random.default_rng(cells), cells, rows=200)
    sets = LocationSets.of(belief, mass)
    for row, column in enumerate(belief.T.tolist()):
        members = sets.ranked[: sets.sizes[row], row].tolist()
        assert members == defined(column, mass)
        assert np.flatnonzero(sets.members[:, row]).tolist() == sorted(members)


def test_all_cells_are_members_where_rounding_leaves_less_than_the_mass() -> None:
    belief = np.full((3, 1), 1.0 / 3.0 - 1e-9)
    assert LocationSets.of(belief, 1.0 - 1e-12).sizes.tolist() == [3]


def test_a_member_stands_for_itself_and_any_other_cell_has_the_nearest_member() -> None:
    rng = np.random.default_rng(3)
    points = Points(rng.integers(0, 3, size=(9, 2)).astype(np.float64))
    table = points.table(9)
    sets = LocationSets.of(beliefs(rng, 9, rows=100), 0.6)
    cells, rows = (axis.ravel() for axis in np.indices((9, 100)))
    for cell, row, found in zip(
        cells, rows, sets.stand_ins(by_distance(table), cells, rows), strict=True
    ):
        members = sorted(sets.ranked[: sets.sizes[row], row].tolist())
        expected = cell if cell in members else min(members, key=lambda one: table[cell, one])
        assert found == expected


def test_two_cells_in_one_place_are_two_cells() -> None:
    assert by_distance(Points(np.zeros((3, 1))).table(3)).tolist() == [
        [0, 1, 2],
        [1, 0, 2],
        [2, 0, 1],
    ]
    assert by_distance(Ordered().table(3))[1].tolist() == [1, 0, 2]
