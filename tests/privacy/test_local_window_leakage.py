"""Reports under a budget of windows keep their word on every transcript of small domains."""

from collections import deque

import numpy as np
import pytest

from fugu.operators.mechanism import State
from fugu.operators.wevent.allocation import Booleans, Offer
from fugu.operators.wevent.pba import Schedule
from fugu.operators.wevent.spread_strategies import DonorAllocation
from fugu.operators.wevent_local.reports import ReportTicks
from fugu.operators.wevent_local.strategies import (
    LocalBudgetAbsorption,
    LocalBudgetDistribution,
    LocalPrivacyBudgetAllocation,
    LocalSample,
    LocalUniform,
)
from fugu.operators.wevent_local.window_reports import Measure, WindowReports
from tests.privacy.local_windows import largest_window_ratio

EPSILON = 1.0
ALWAYS = Schedule((True,))
REACHED = {
    LocalPrivacyBudgetAllocation: 0.99,
    LocalUniform: 0.99,
    LocalSample: 0.99,
    LocalBudgetAbsorption: 0.8,
    LocalBudgetDistribution: 0.7,
}
"""The share of epsilon that some transcript of four releases reaches, with windows of two."""


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("dissimilarity", ["response", "laplace"])
@pytest.mark.parametrize("kind", REACHED)
def test_no_transcript_tells_windows_apart_by_more_than_epsilon(
    kind: type[WindowReports], dissimilarity: Measure, window: int
) -> None:
    mechanism = kind(2, window, EPSILON, dissimilarity)
    for steps in (1, 2, 3, 4):
        assert largest_window_ratio(mechanism, steps, window) <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize("kind", REACHED)
def test_some_transcript_reaches_what_is_claimed(kind: type[WindowReports]) -> None:
    reached = largest_window_ratio(kind(2, 2, EPSILON), 4, 2)
    assert reached >= REACHED[kind] * EPSILON


@pytest.mark.parametrize("symbols", [2, 3])
@pytest.mark.parametrize("dissimilarity", ["response", "laplace"])
def test_flagged_reports_keep_and_reach_epsilon(symbols: int, dissimilarity: Measure) -> None:
    """A report of two budgets, its donor and the silenced position are in these transcripts."""
    flagged = LocalPrivacyBudgetAllocation(
        symbols,
        2,
        EPSILON,
        dissimilarity,
        ALWAYS,
    )
    reached = [largest_window_ratio(flagged, steps, 2) for steps in range(1, 6 - symbols + 2)]
    assert max(reached) <= EPSILON * (1 + 1e-9)
    if dissimilarity == "response":
        assert max(reached) >= 0.99 * EPSILON


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("dissimilarity", ["response", "laplace"])
@pytest.mark.parametrize("kind", REACHED)
def test_absence_is_one_more_truth_that_windows_do_not_tell(
    kind: type[WindowReports], dissimilarity: Measure, window: int
) -> None:
    mechanism = kind(2, window, EPSILON, dissimilarity, ticks=ReportTicks(1_000))
    assert mechanism.inputs == 3
    for steps in (1, 2, 3, 4):
        assert largest_window_ratio(mechanism, steps, window) <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize("dissimilarity", ["response", "laplace"])
def test_absence_is_hidden_where_flagged_reports_absorb_budgets(dissimilarity: Measure) -> None:
    flagged = LocalPrivacyBudgetAllocation(
        2, 2, EPSILON, dissimilarity, ALWAYS, ticks=ReportTicks(1_000)
    )
    for steps in (1, 2, 3, 4):
        assert largest_window_ratio(flagged, steps, 2) <= EPSILON * (1 + 1e-9)


class NeverSilent(DonorAllocation):
    """Forget to silence the position after a report that absorbed a budget."""

    def settle(self, state: State, offer: Offer, published: Booleans) -> State:
        return {
            **super().settle(state, offer, published),
            "silenced": np.zeros(len(published), dtype=bool),
        }


class Unsilenced(LocalPrivacyBudgetAllocation):
    """Report with a rule that is not sound."""

    rule_class = NeverSilent


def test_without_the_silenced_position_the_claim_breaks() -> None:
    """The enumeration would find it; at run time the rule itself stops first."""
    with pytest.raises(ArithmeticError, match="more than epsilon"):
        largest_window_ratio(Unsilenced(2, 2, EPSILON, flags=ALWAYS), 4, 2)


@pytest.mark.parametrize("window", range(1, 9))
def test_every_state_of_the_rule_charges_windows_at_most_epsilon(window: int) -> None:
    """Follow wishes and flags from every reachable state, whatever the length of the stream.

    A state is what the rule looks at: recent publications, donors, silence. Their sum over a window
    reaches the half that publications have, and no more.
    """
    share = 12
    rule = DonorAllocation(window, 2 * window * share)
    seen, waiting, largest = set[bytes](), deque([rule.start(1)]), 0
    while waiting:
        rows = _joined(waiting)
        waiting.clear()
        for wish in (False, True):
            for flag in (False, True):
                count = len(rows["tick"])
                offer = rule.offer(rows, np.full(count, flag))
                published = (offer.publication > 0) & wish
                sums = rows["paid"].sum(axis=1) + np.where(published, offer.publication, 0)
                largest = max(largest, int(sums.max()))
                after = rule.settle(rows, offer, published)
                paid = np.where(published, offer.publication, 0)
                after["paid"] = np.concatenate([rows["paid"], paid[:, None]], axis=1)[:, 1:]
                waiting.extend(_unseen(after, seen))
    assert largest == window * share


def _joined(states: deque[State]) -> State:
    window = states[0]["recent"].shape[1]
    for state in states:
        state.setdefault("paid", np.zeros((1, window), dtype=np.int64))
    return {name: np.concatenate([one[name] for one in states]) for name in states[0]}


def _unseen(state: State, seen: set[bytes]) -> list[State]:
    """Return the rows that are new, with clocks and sums that the rule does not look at reset."""
    state = {**state, "tick": 0 * state["tick"], "spent": 0 * state["spent"]}
    state["recent"] = 0 * state["recent"]
    names = ("paid", "donors", "silenced")
    rows = np.concatenate([state[name].reshape(len(state["tick"]), -1) for name in names], axis=1)
    new = []
    for row, content in enumerate(rows):
        if (key := content.tobytes()) not in seen:
            seen.add(key)
            new.append({name: column[row : row + 1] for name, column in state.items()})
    return new
