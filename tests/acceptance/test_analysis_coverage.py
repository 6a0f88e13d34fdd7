"""How often 95 % bars of `fugu.read` hold the truth, over 200 seeded runs of each kind.

Writes `results/analysis_coverage.txt`, which is committed.
"""

from pathlib import Path

import pytest

from tests.dataflows.analysis.coverage import (
    FILTERED,
    HELD,
    MEANS,
    SERIES,
    SHARES,
    Coverage,
    of_figures,
    of_means,
    of_shares,
)

RESULTS = Path(__file__).parent / "results" / "analysis_coverage.txt"
RUNS = 200
OF_FILTERS = (0.85, 1.0)
"""Filters declare how figures move and say their own errors, which are as right as that is."""
SMOOTHED = (0.93, 1.0)
"""The tests that repeated figures have passed are not counted, and make smooth ones better."""
_HEAD = """\
Coverage of 95 % bars over 200 seeded runs of each kind, where the model is right. Shares and means:
100 users with 6 records each, the truth is that of all such users. Figures: 48 ticks of two groups
that walk at random. Filters (fast, rescue_dp, pegasus, real_time) say their own errors, and bars of
their totals are for errors that all go the same way. Alarms: runs in which the model check, at a
level of 1 %, gave a false one.

kind                     question            runs  held     length  alarms
"""


@pytest.mark.acceptance
def test_bars_hold_what_they_say() -> None:
    found = [of_shares(kind, RUNS) for kind in SHARES]
    found += [of_means(kind, RUNS) for kind in MEANS]
    for kind in (*SERIES, *FILTERED):
        found += of_figures(kind, RUNS)
    RESULTS.write_text(_HEAD + "\n".join(one.row for one in found) + "\n")
    assert [one.row for one in found if not _as_said(one)] == []
    assert [one.row for one in found if one.alarms > 0.02] == []


def _as_said(one: Coverage) -> bool:
    low, high = HELD
    if one.kind in FILTERED:
        low, high = (0.0, 1.0) if one.question == "totals of 4" else OF_FILTERS
    elif one.question == "smoothed":
        low, high = SMOOTHED
    return bool(low <= one.held.mean() <= high)
