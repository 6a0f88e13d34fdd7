"""Count how often 95 % bars of `fugu.read` hold the truth, over seeded runs of each kind.

Each kind writes its rows of `results/analysis_coverage.txt`, which is committed; the rows of the
others stay.
"""

from pathlib import Path

import pytest

from fugu.dataflows.kinds import KINDS
from tests.dataflows.analysis.coverage import (
    COLLECTED,
    DISPLACED,
    FILTERED,
    HELD,
    MEANS,
    POLICIES,
    SERIES,
    SHARES,
    Coverage,
    of_figures,
    of_means,
    of_shares,
)

RESULTS = Path(__file__).parent / "results" / "analysis_coverage.txt"
RUNS, MORE_RUNS = 200, 1_000
"""Allow for chance: what 200 runs hold has a standard error of .007, and there are sixty rows."""
REPEATED = ("sample", *POLICIES, *COLLECTED)
"""Allow bars to hold more: what moves between measurements is estimated from few of them, and what
was tested is not known."""
OF_FILTERS = (0.85, 1.0)
"""Filters declare how figures move and say their own errors, which are as right as that is."""
AT_LEAST = (0.93, 1.0)
"""Smoothed figures, too: the tests that repeated ones passed are not counted, and make them
better."""
TRIED = (*SHARES, *MEANS, *DISPLACED, *SERIES, *FILTERED)
HEAD = """\
Coverage of 95 % bars over 200 seeded runs of each kind, where the model is right. Shares and means:
100 users with 6 records each, the truth is that of all such users; values displaced in time: five
times 20 users with 24 records. Figures: 48 ticks of two groups that walk at random (policies: one
figure, over an evening, and of ts_sample over a week), or of 1,000 users who report. Filters (fast,
rescue_dp, pegasus, real_time) say their own errors, and bars of their totals are for errors that
all go the same way. Shares and means that 200 runs hold less than .93 or more than .97 of are made
again with 1,000 runs. Alarms: runs in which the model check, at a level of 1 %, gave a false one.

kind                            question      runs  held     length  alarms
"""


@pytest.mark.acceptance
@pytest.mark.parametrize("kind", TRIED)
def test_bars_hold_what_they_say(kind: str) -> None:
    found = _tried(kind, RUNS)
    if kind not in (*SERIES, *FILTERED) and not all(map(_as_said, found)):
        found = _tried(kind, MORE_RUNS)
    _write(kind, [one.row for one in found])
    assert [one.row for one in found if not _as_said(one)] == []
    assert [one.row for one in found if one.alarms > 0.02] == []


def test_every_kind_that_estimates_are_made_of_is_tried() -> None:
    assert set(KINDS) - set(TRIED) == {"anonymize"}, "which releases people, and no estimates"


@pytest.mark.acceptance
def test_the_table_has_rows_of_every_kind() -> None:
    rows = RESULTS.read_text().removeprefix(HEAD).splitlines()
    assert list(dict.fromkeys(row.split()[0] for row in rows)) == list(TRIED)


def _tried(kind: str, runs: int) -> list[Coverage]:
    if kind in SHARES:
        return [of_shares(kind, runs)]
    return [of_means(kind, runs)] if kind in (*MEANS, *DISPLACED) else of_figures(kind, runs)


def _write(kind: str, rows: list[str]) -> None:
    """Replace the rows of a kind, and keep those of the others in the order of kinds."""
    there = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    others = [row for row in there if row.split()[:1] != [kind]]
    known = [row for row in [*others, *rows] if row.split()[:1] and row.split()[0] in TRIED]
    known.sort(key=lambda row: TRIED.index(row.split()[0]))
    RESULTS.write_text(HEAD + "\n".join(known) + "\n")


def _as_said(one: Coverage) -> bool:
    low, high = HELD
    if one.kind in FILTERED:
        low, high = (0.0, 1.0) if one.question == "totals of 4" else OF_FILTERS
    elif one.question == "smoothed" or one.kind in REPEATED:
        low, high = AT_LEAST
    return bool(low <= one.held.mean() <= high)
