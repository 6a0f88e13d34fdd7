"""Plant faults in figures under policies, which `fugu audit` or a test must notice."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fugu.dataflows.kinds.unicorn import UnicornOperator
from fugu.dataflows.kinds.unicorn_ps import UnicornPsOperator
from fugu.dataflows.stages.log_entries import Entry, PoliciesCovered
from fugu.dataflows.stages.merging import MergeState, Merging
from fugu.operators.mechanism import Draws, Inputs, Integers, Releases, State
from fugu.operators.swellfish import decisions, timeline
from fugu.operators.swellfish.calendar import Calendar
from fugu.operators.swellfish.changes import AnyChange, Standings
from fugu.operators.swellfish.decisions import Decision, _on_all_days, decided
from fugu.operators.swellfish.interval_strategies import Books, Unicorn, UnicornPS
from fugu.operators.wevent.allocation import Booleans, Offer
from fugu.operators.wevent.strategy import Tick
from tests.dataflows.stages.aggregates import test_covered_ticks
from tests.operators.swellfish import test_coverage, test_lifecycle
from tests.privacy.faults.planted import InTest, Planted, Replacing
from tests.privacy.faults.windows import CLASS, WithoutNoise, in_audit, planted

FAMILY = "figures under policies"


class HalvedNoise(UnicornPS):
    """Sample with twice the budget that is charged."""

    def _charged(self, tick: Tick, offer: Offer, relevant: Booleans, scale: Integers) -> Offer:
        twice = super()._charged(tick, offer, relevant, scale)
        return replace(twice, publication=2 * twice.publication)

    def _settle(self, state: State, opened: Books, charged: Offer) -> State:
        half = replace(charged, publication=charged.publication // 2)
        return super()._settle(state, opened, half)


class NothingIsCharged(UnicornPS):
    """Leave the ledgers of intervals as they were."""

    def _settle(self, state: State, opened: Books, charged: Offer) -> State:
        free = replace(charged, publication=np.zeros_like(charged.publication))
        return super()._settle(state, opened, free)

    def _publication(self, books: Books) -> Integers:
        return np.full_like(books.ledgers.start, self.cap)


class PoliciesStay(UnicornPS):
    """Go on with the policies of the start."""

    def after_change(self, state: State, change: bytes) -> State:
        return state


class DecidesOnTheTruth(Unicorn):
    """Publish exactly where the figures have moved far enough."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        return super().step(state, inputs, WithoutNoise(draws))


class NobodyWaits(Merging):
    """Release a tick as soon as it is complete, whatever is known of policies."""

    def __call__(
        self, state: MergeState, entry: Entry, offset: int = 0
    ) -> Iterator[tuple[int, Releases]]:
        merge = Merging(self.mechanism, self.scope, self.source, self.partitions, self.groups)
        yield from merge(state, entry, offset)


class AnyMarkCovers(Merging):
    """Take a mark for all ticks that were complete when it was written."""

    def __call__(
        self, state: MergeState, entry: Entry, offset: int = 0
    ) -> Iterator[tuple[int, Releases]]:
        if isinstance(entry, PoliciesCovered):
            entry = PoliciesCovered(offset)
        yield from super().__call__(state, entry, offset)


def removed_at_once(
    standings: Standings, change: AnyChange, now: int, notice: int, tick_milliseconds: int
) -> tuple[Standings, Decision]:
    """Take away what somebody wants removed, without a notice."""
    return decided(standings, change, now, 0, tick_milliseconds)


def days_left_out_are_not_seen(its: Calendar, own: Calendar) -> bool:
    """Let a policy that leaves out more days take the place of another one at once."""
    return _on_all_days(its, replace(own, except_days=()))


WAITING = Replacing(
    test_covered_ticks,
    "Merging",
    InTest(
        test_covered_ticks.test_ticks_and_what_they_know_are_as_the_whole_log_says,
        lambda merge: (1,),
    ),
)
ALWAYS = Replacing(UnicornPsOperator, CLASS, in_audit("unicorn_ps"))
PLANTED = (
    planted("halved noise", UnicornPS, HalvedNoise, ALWAYS),
    planted("ignored window", UnicornPS, NothingIsCharged, ALWAYS),
    planted("stale policy", UnicornPS, PoliciesStay, ALWAYS),
    Planted("stale policy", Merging, NobodyWaits, WAITING),
    Planted("stale policy", Merging, AnyMarkCovers, WAITING),
    Planted(
        "removal without notice",
        decided,
        removed_at_once,
        Replacing(
            timeline,
            "decided",
            InTest(test_lifecycle.test_what_counts_for_less_begins_after_the_notice),
        ),
    ),
    Planted(
        "less takes the place of more",
        _on_all_days,
        days_left_out_are_not_seen,
        Replacing(
            decisions,
            "_on_all_days",
            InTest(test_coverage.test_whatever_is_said_to_go_on_is_hidden_on_every_day),
        ),
    ),
    planted(
        "decision taken on truth",
        Unicorn,
        DecidesOnTheTruth,
        Replacing(UnicornOperator, CLASS, in_audit("unicorn")),
    ),
)
