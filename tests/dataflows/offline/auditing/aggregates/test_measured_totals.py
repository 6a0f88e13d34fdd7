"""The audit of running totals compares all that is measured, silent ticks included."""

import numpy as np

from fugu.dataflows.offline.auditing.aggregates.totals import measured
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.totals.running_total import RunningTotal


def test_silent_ticks_are_measured_so_that_neighbours_stay_apart() -> None:
    """One person alone: in ticks 0 and 4, or in no more than the others; as the audit compares."""
    cap = PersonalCap(2, 5, apart=4)
    totals = RunningTotal(1, 1, 1, 3.0, 1e-6, personal_cap=cap, tick_milliseconds=1000)
    told = {at: np.array([1]) for at in (0, 4)}
    found = measured(totals, told)
    assert sorted(found) == [0, 1, 2, 3, 4]
    silent = {at: np.array([0]) for at in range(5)}
    without = measured(totals, silent)
    apart = sum(int(np.sum((found[at] - without[at]) ** 2)) for at in range(5))
    alone = measured(totals, {**silent, 0: np.array([1])})
    assert apart <= totals.precision.squares
    assert [int(alone[at][0]) for at in range(4)] == [int(found[at][0]) for at in range(4)]
