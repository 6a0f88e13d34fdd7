"""Plant faults in what happens to records before the noise of aggregates is drawn."""

from collections.abc import Callable
from dataclasses import replace
from math import inf

import numpy as np

from fugu.dataflows.base.batches import Decoded, Reason, RefusedRecords
from fugu.dataflows.stages.bounding import Bounded
from fugu.dataflows.stages.log_entries import PartialSums
from fugu.dataflows.stages.merging import MergeState, Merging, OpenTicks
from fugu.dataflows.stages.summing import Summing
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.leakage.leakage_function import Matrix
from fugu.operators.mechanism import Array, Integers, State
from fugu.operators.swellfish.interval_strategies import UnicornPS
from tests.dataflows.stages.aggregates import (
    exact,
    test_aggregates,
    test_merge_state,
    test_neighbours,
    test_sensitivity,
)
from tests.operators.leakage.chains import backward_rows, long_run_law
from tests.operators.swellfish import test_strategies as under_policies
from tests.privacy import test_temporal_leakage as temporal_leakage
from tests.privacy.faults.planted import InTest, Planted, Replacing

FAMILY = "figures"


class EveryRecordCounts(Summing):
    """Add up what several records of one person say in a tick."""

    def _note(
        self, table: RowTable, rows: Integers, cells: Integers, times: Integers, values: Array
    ) -> dict[int, Reason]:
        columns, ticks = table.columns, times // self.ticks.width
        for row, cell, tick, value in zip(rows, cells, ticks, values.reshape(-1, 2), strict=True):
            before = columns["amount"][row, cell] if columns["tick"][row, cell] == tick else 0
            columns["tick"][row, cell], columns["group"][row, cell] = tick, value[0]
            columns["amount"][row, cell] = before + value[1]
        return {}


class RefusedRecordsAreNotSeen(Summing):
    """Move time by the records whose values are accepted only."""

    def __call__(self, decoded: Decoded, table: RowTable) -> Bounded[PartialSums]:
        return super().__call__(replace(decoded, refused=RefusedRecords()), table)


class EveryEntryCounts(Merging):
    """Add sums up that a partition wrote before, as it does after a restart."""

    def _take(self, state: MergeState, partial: PartialSums, offset: int) -> None:
        if partial.tick <= state.progress.last.get(partial.partition, -inf):
            state.open.add(partial)
        super()._take(state, partial, offset)


class MechanismBeginsAnew(Merging):
    """Read back how far partitions are, and forget what was published and spent."""

    def restored(self, content: bytes, load: Callable[[str], OpenTicks]) -> MergeState:
        return replace(super().restored(content, load), mechanism=self.mechanism.start(1))


class PoliciesStay(UnicornPS):
    """Go on with the policies of the start."""

    def after_change(self, state: State, content: bytes) -> State:
        return state


class BackwardsAsForwards(TemporalCorrelation):
    """Read a chain backwards in time by its forward matrix."""

    @classmethod
    def of(cls, forward: Matrix, backward: Matrix | None = None) -> TemporalCorrelation:
        return TemporalCorrelation.of(forward, forward)


class LongRunForAll(TemporalCorrelation):
    """Take every person to have followed the matrix for long."""

    @classmethod
    def of(cls, forward: Matrix, backward: Matrix | None = None) -> TemporalCorrelation:
        rows = np.array(forward)
        turned = backward_rows(rows, long_run_law(rows)) if backward is None else backward
        return TemporalCorrelation.of(forward, turned)


SENSITIVITY = Replacing(
    exact,
    "Summing",
    InTest(
        test_sensitivity.test_another_contribution_changes_a_tick_by_no_more_than_declared,
        lambda stage: (True, 100),
    ),
)
TIME = Replacing(
    exact, "Summing", InTest(test_neighbours.test_a_refused_record_moves_time_as_any_other_does)
)
COPIES = Replacing(
    exact, "Merging", InTest(test_aggregates.test_how_partitions_write_to_the_log_never_shows)
)
RESTART = Replacing(
    test_merge_state,
    "Merging",
    InTest(
        test_merge_state.test_a_state_that_was_written_and_read_goes_on_the_same,
        lambda merge: ("budget_absorption",),
    ),
)
CHANGE = Replacing(
    under_policies,
    "UnicornPS",
    InTest(under_policies.test_policies_change_for_the_ticks_that_know_of_it),
)
CORRELATION = Replacing(
    temporal_leakage,
    "TemporalCorrelation",
    InTest(temporal_leakage.test_nothing_that_is_released_tells_more, lambda bound: (3,)),
)
BEGINNING = Replacing(
    temporal_leakage,
    "TemporalCorrelation",
    InTest(temporal_leakage.test_a_limit_holds_wherever_a_person_began),
)
PLANTED = (
    Planted("doubled contribution", Summing, EveryRecordCounts, SENSITIVITY),
    Planted("time moved by values", Summing, RefusedRecordsAreNotSeen, TIME),
    Planted("batch counted twice", Merging, EveryEntryCounts, COPIES),
    Planted("budget reset at restart", Merging, MechanismBeginsAnew, RESTART),
    Planted("stale policy", UnicornPS, PoliciesStay, CHANGE),
    Planted("P_B = P_F", TemporalCorrelation, BackwardsAsForwards, CORRELATION),
    Planted("P_B = P_F", TemporalCorrelation, LongRunForAll, BEGINNING),
)
