"""How often 95 % bars of `fugu.read` hold the truth, over 200 seeded runs of each kind.

Writes `results/analysis_coverage.txt`, which is committed.
"""

from pathlib import Path

import pytest

from tests.dataflows.analysis.coverage import (
    HELD,
    MEANS,
    SERIES,
    SHARES,
    of_figures,
    of_means,
    of_shares,
)

RESULTS = Path(__file__).parent / "results" / "analysis_coverage.txt"
RUNS = 200
_HEAD = """\
Coverage of 95 % bars over 200 seeded runs of each kind, where the model is right. Shares and means:
100 users with 6 records each, the truth is that of all such users. Figures: 48 ticks of two groups
that walk at random. Alarms: runs in which the model check, at a level of 1 %, gave a false one.

kind                     question            runs  held     length  alarms
"""


@pytest.mark.acceptance
def test_bars_hold_what_they_say() -> None:
    found = [of_shares(kind, RUNS) for kind in SHARES]
    found += [of_means(kind, RUNS) for kind in MEANS]
    for kind in SERIES:
        found += of_figures(kind, RUNS)
    RESULTS.write_text(_HEAD + "\n".join(one.row for one in found) + "\n")
    low, high = HELD
    assert [one.row for one in found if not low <= one.held.mean() <= high] == []
    assert [one.row for one in found if one.alarms > 0.02] == []
