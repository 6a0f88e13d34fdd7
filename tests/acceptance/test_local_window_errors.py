"""The PBA-LDP columns of the local table of section 9 of the PBA specification, 8 runs each.

Writes `results/local_window_errors.txt`, which is committed.
"""

from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from fugu.operators.columns import ByteColumn
from fugu.operators.mechanism import Floats, Inputs
from fugu.operators.randomness import DrawScope, Secret, tick_position
from fugu.operators.wevent.pba import Schedule
from fugu.operators.wevent_local.reports import ReportTicks
from fugu.operators.wevent_local.strategies import LocalPrivacyBudgetAllocation
from tests.operators.wevent.moving_users import CELLS, TICKS, USERS, counts, walks

RESULTS = Path(__file__).parent / "results" / "local_window_errors.txt"
STREAM, RUNS, TOLERANCE = 1, 8, 0.10
SECOND = ReportTicks(1_000)
PRINTED = {
    (10, 1.0): (1431, 864),
    (20, 1.0): (2867, 1619),
    (40, 1.0): (5692, 3172),
    (40, 5.0): (1145, 632),
    (10, 10.0): (150, 86.6),
}
"""The printed mean absolute errors of flags 0 and flags 1, by window and epsilon."""


def measured(mechanism: LocalPrivacyBudgetAllocation, runs: int = RUNS) -> Floats:
    """Return the mean error per tick and cell of each run, by the reports in force."""
    rows, errors = np.arange(runs * USERS), np.zeros(runs)
    scope = DrawScope(Secret(bytes(range(32))), "section 9", "pba_ldp", 1, mechanism.law_digest())
    names = ByteColumn.of([b"user-%d" % row for row in rows.tolist()])
    state = mechanism.start(len(rows))
    for tick, (users, true) in enumerate(zip(walks(STREAM), counts(STREAM), strict=True)):
        position = ByteColumn.repeated(tick_position("walks", tick), len(rows))
        draws, inputs = scope.draws(names, position), Inputs(np.tile(users, runs))
        run = mechanism.run(state, rows, inputs, draws)
        state, releases = run.state, run.releases
        budgets, places = np.unique(state["budget"], return_inverse=True)
        f = np.array([mechanism.reports.flip_chance(int(units)) for units in budgets])[places]
        weights = 1.0 / (1.0 - 2.0 * f)
        told = releases.values.reshape(runs, USERS, CELLS)
        counted = np.einsum("ru,ruc->rc", weights.reshape(runs, USERS), told)
        counted -= (f * weights).reshape(runs, USERS).sum(axis=1)[:, None]
        errors += np.abs(counted - true).mean(axis=1) / TICKS
    return errors


def shown(errors: Floats) -> str:
    """Return the mean over runs and its standard error."""
    return f"{errors.mean():.4g} +-{errors.std(ddof=1) / sqrt(RUNS):.2g}"


@pytest.mark.acceptance
def test_errors_of_reports_are_those_of_section_9() -> None:
    lines = [
        "Mean error per tick and cell of 2,000 moving users, absolute +- standard error, by",
        "reports of pba_ldp in ticks; in brackets, what the specification (section 9) prints.",
        "",
        "w   eps    flags 0              flags 1",
    ]
    wrong = []
    for (window, epsilon), printed in PRINTED.items():
        row = []
        for flag, value in zip((False, True), printed, strict=True):
            flags = Schedule((flag,))
            pba = LocalPrivacyBudgetAllocation(CELLS, window, epsilon, flags=flags, ticks=SECOND)
            errors = measured(pba)
            row.append(f"{shown(errors)} [{value:g}]")
            if abs(errors.mean() / value - 1.0) > TOLERANCE:
                wrong.append((window, epsilon, flag, row[-1]))
        lines.append(f"{window:<3} {epsilon:<5g} " + "  ".join(f"{one:<20}" for one in row))
    RESULTS.write_text("\n".join(line.rstrip() for line in lines) + "\n")
    assert wrong == []
