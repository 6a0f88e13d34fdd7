"""Rows follow published releases to what they have spent, or the releases are none of theirs."""

import numpy as np
import pytest

from fugu.operators.budget import Budgeted, WhenExhausted
from fugu.operators.carrying.carry import followed, refuse_hidden_positions
from fugu.operators.mechanism import Array, ChargingMechanism, Inputs, Kind, Releases, State
from fugu.operators.randomness import DrawScope, Secret
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import MarkovModel

MODEL = MarkovModel.smoothed(
    [0.5, 0.3, 0.2], [[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.2, 0.4, 0.4]], smoothing=0.01
)
GRR = GeneralizedRandomizedResponse(symbols=3, epsilon=1.0)
CRR = ConditionalRandomizedResponse(MODEL, epsilon=1.0)
ADAPTIVE = AdaptiveRelease(MODEL, decision_epsilon=0.5, release_epsilon=0.5)
STEPS = 12


def released(budgeted: Budgeted) -> tuple[State, list[Releases]]:
    """The row of one stream after some records, and its releases."""
    scope = DrawScope(Secret(bytes(range(32))), "p", "k", 1, bytes(32))
    state, releases = budgeted.start(1), list[Releases]()
    for number in range(STEPS):
        draws = scope.draws([b"ada"], [b"%d" % number])
        state, one = budgeted.step(state, Inputs(np.array([number % 3])), draws)
        releases.append(one)
    return state, releases


def one(symbol: int, kind: Kind) -> Releases:
    return Releases(np.array([symbol]), {}, np.array([kind]))


def kind_of(releases: Releases) -> int:
    kinds: Array | None = releases.kinds
    assert kinds is not None
    return int(kinds[0])


@pytest.mark.parametrize(
    ("when_exhausted", "window"),
    [("repeat", None), ("repeat", 3), ("constant", 3), ("suppress", None)],
)
@pytest.mark.parametrize("inside", [GRR, CRR, ADAPTIVE])
def test_a_row_that_follows_its_releases_has_spent_the_same(
    inside: ChargingMechanism, when_exhausted: WhenExhausted, window: int | None
) -> None:
    budgeted = Budgeted(inside, 2.0, window, when_exhausted)
    after, releases = released(budgeted)
    kinds = [kind_of(release) for release in releases]
    assert len(set(kinds)) > 1, "some could not be paid for"
    state = budgeted.start(1)
    refuse_hidden_positions(budgeted)
    for release, kind in zip(releases, kinds, strict=True):
        if kind != Kind.SUPPRESSED:
            state = followed(budgeted, state, release)
    for name in ["spent"] if when_exhausted == "suppress" else list(after):
        assert np.array_equal(state[name], after[name])


def test_a_fresh_release_is_not_taken_for_one_that_was_not_paid_for() -> None:
    """Its record came later: between the two the window has passed without a release."""
    budgeted = Budgeted(GRR, 1.0, 3, "repeat")
    first = followed(budgeted, budgeted.start(1), one(1, Kind.FRESH))
    with pytest.raises(ValueError, match="none that a row could have made next"):
        followed(budgeted, first, one(1, Kind.FRESH))
    again = followed(budgeted, first, one(1, Kind.REPEATED))
    paying = followed(budgeted, again, one(1, Kind.REPEATED))
    with pytest.raises(ValueError, match="none that a row could have made next"):
        followed(budgeted, paying, one(1, Kind.REPEATED))
    last = followed(budgeted, paying, one(1, Kind.FRESH))
    assert int(last["spent"][0]) == 2 * GRR.largest_charge


def test_positions_that_nothing_shows_are_refused_where_a_window_counts_them() -> None:
    with pytest.raises(ValueError, match="positions without a release are not in"):
        refuse_hidden_positions(Budgeted(GRR, 1.0, 3, "suppress"))
    refuse_hidden_positions(GRR)
