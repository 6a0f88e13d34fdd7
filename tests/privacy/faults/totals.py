"""Plant faults in running totals and in personal caps."""

from dataclasses import replace

import numpy as np

from fugu.dataflows.kinds import running_total
from fugu.dataflows.stages.summing import Summing
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Draws, Floats, Integers, State
from fugu.operators.personal_cap import Booleans, PersonalCap
from fugu.operators.totals.precision import Changes, Precision
from fugu.operators.totals.running_total import RunningTotal
from fugu.operators.totals.truncated_totals import Tree, TruncatedTotals
from tests.dataflows.offline.auditing.aggregates import test_measured_totals
from tests.dataflows.stages.aggregates import exact, test_personal_caps
from tests.operators.totals import test_truncated_totals as truncated
from tests.privacy import test_tops_leakage as tops
from tests.privacy.faults.planted import InAudit, InTest, Planted, Replacing

FAMILY = "running totals and caps"
FALSE_ALARM = 1e-3


class TwiceAsPrecise(Precision):
    """Mix with twice the steps that are paid for, which halves the noise."""

    @property
    def scale(self) -> int:
        return 2 * super().scale


class HalvedNoise(RunningTotal):
    """Measure with noise of half the deviation that is paid for."""

    def _precision(self, changes: Changes) -> Precision:
        made = super()._precision(changes)
        return TwiceAsPrecise(made.buffers, changes, self.epsilon, self.delta)


class MovesForgotten(RunningTotal):
    """Pay for what one person contributes, and not for what it takes the place of."""

    def _precision(self, changes: Changes) -> Precision:
        return super()._precision(replace(changes, factor=1))


class OneTickCounted(RunningTotal):
    """Pay for one tick of the several that a person counts in."""

    def _precision(self, changes: Changes) -> Precision:
        return super()._precision(replace(changes, counted=1))


class SilenceSkipped(RunningTotal):
    """Measure nothing at ticks that nobody was in, which brings those that are `apart` together."""

    def _with_silence(self, state: State, draws: Draws) -> tuple[State, list[Floats]]:
        return {**state, "last": state["tick"].copy()}, []


class RawThreshold(TruncatedTotals):
    """Cut off at the largest of the first numbers, without noise."""

    def threshold(self, first: Integers, later: int, draws: Draws, rows: int) -> int:
        return max(1, int(first.max()))


class OneLevelPaid(TruncatedTotals):
    """Spend epsilon on each level of the tree."""

    def price_of_sum(self, end: int, tree: Tree) -> int:
        return super().price_of_sum(end, tree._replace(levels=1))


class NotCutOff(TruncatedTotals):
    """Add numbers up as they are, with noise for the threshold."""

    def nodes(self, numbers: Integers, end: int) -> list[Integers]:
        return super().nodes(numbers, self.width)


class EverybodyCounts(Summing):
    """Count people in every tick."""

    def _counting(self, cap: PersonalCap, table: RowTable, rows: Integers, tick: int) -> Integers:
        return rows


class RowsGivenAway(Summing):
    """Give the row of a person away as soon as its ticks are closed."""

    def _in_use(self, table: RowTable) -> Booleans:
        return np.zeros(len(table), dtype=np.bool_)


class ZerosUseUp(Summing):
    """Use up a tick for a contribution of nothing: it may be in the place of something."""

    def _counting(self, cap: PersonalCap, table: RowTable, rows: Integers, tick: int) -> Integers:
        amounts = table.live("amount")[rows, tick % self.ticks.open]
        table.live("amount")[rows, tick % self.ticks.open] = np.maximum(1, amounts)
        counting = super()._counting(cap, table, rows, tick)
        table.live("amount")[rows, tick % self.ticks.open] = amounts
        return counting


CHANGES = {"horizon": None, "contributions": {"at_most": 3, "per": "3h"}}
AUDIT = Replacing(
    running_total, "RunningTotal", InAudit("running_total", CHANGES, runs=1_000, steps=14)
)
PERIODS = Replacing(
    exact, "Summing", InTest(test_personal_caps.test_the_earliest_ticks_of_each_period_count)
)
ROWS = Replacing(
    exact,
    "Summing",
    InTest(test_personal_caps.test_a_row_is_kept_until_the_period_of_its_last_record_is_over),
)
ZEROS = Replacing(
    exact, "Summing", InTest(test_personal_caps.test_a_contribution_of_zero_uses_nothing_up)
)
SILENCE = Replacing(
    test_measured_totals,
    "RunningTotal",
    InTest(test_measured_totals.test_silent_ticks_are_measured_so_that_neighbours_stay_apart),
)
TOLD_BY_CHANCE = 16 * tops.ALARM
THRESHOLD = InTest(
    tops.test_who_sees_the_threshold_cannot_tell_a_first_number, lambda kind: (kind,)
)
LEVELS = InTest(tops.test_a_number_in_nodes_of_several_levels_tells_no_more, lambda kind: (kind,))
CUT_OFF = InTest(truncated.test_numbers_beyond_the_threshold_count_as_it, lambda kind: (kind,))
PLANTED = (
    Planted("halved noise", RunningTotal, HalvedNoise, AUDIT, FALSE_ALARM),
    Planted("a move charged once", RunningTotal, MovesForgotten, AUDIT, FALSE_ALARM),
    Planted("ignored window", RunningTotal, OneTickCounted, AUDIT, FALSE_ALARM),
    Planted("silence skipped", RunningTotal, SilenceSkipped, SILENCE),
    Planted("ignored cap", Summing, EverybodyCounts, PERIODS),
    Planted("budget reset by others", Summing, RowsGivenAway, ROWS),
    Planted("zeros that use up", Summing, ZerosUseUp, ZEROS),
    Planted("threshold without noise", TruncatedTotals, RawThreshold, THRESHOLD, TOLD_BY_CHANCE),
    Planted("one level paid for", TruncatedTotals, OneLevelPaid, LEVELS),
    Planted("numbers not cut off", TruncatedTotals, NotCutOff, CUT_OFF),
)
