"""The central table of section 9 of the PBA specification, 30 runs each.

Writes `results/wevent_errors.txt`, which is committed.
"""

from itertools import groupby
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from tests.operators.wevent.moving_users import (
    CELLS,
    CONSTANT_GUESS,
    STRATEGIES,
    USERS,
    cells,
    counts,
    measure,
)

RESULTS = Path(__file__).parent / "results" / "wevent_errors.txt"
STREAM, RUNS, TOLERANCE = 1, 30, 0.10


@pytest.mark.acceptance
def test_errors_of_central_strategies_are_those_of_section_9() -> None:
    guess = np.abs(counts(STREAM) - USERS / CELLS).mean()
    lines = [
        "Mean error per tick and cell of 2,000 moving users, absolute +- standard error / squared;",
        "in brackets, what the specification (section 9) prints. Budget distribution (BD) is PBA",
        f"with all flags. Publishing the mean of all cells: {guess:.1f} [{CONSTANT_GUESS}].",
        "",
        "w   eps  " + "  ".join(f"{name:<46}" for name in STRATEGIES),
    ]
    wrong = []
    for (window, epsilon), row in groupby(cells(), key=lambda cell: (cell.window, cell.epsilon)):
        shown = []
        for cell in row:
            measured = measure(cell, stream=STREAM, runs=RUNS, seed=3)
            error = measured.absolute.std(ddof=1) / sqrt(RUNS)
            shown.append(
                f"{measured.absolute.mean():.2f} +-{error:.2f} / {measured.squared.mean():.4g}"
                f" [{cell.absolute:.2f} / {cell.squared:.4g}]"
            )
            if not measured.agrees_with(cell, TOLERANCE) or measured.window_epsilon > epsilon:
                wrong.append((window, epsilon, cell.strategy, shown[-1]))
        lines.append(f"{window:<3} {epsilon:.1f}  " + "  ".join(f"{entry:<46}" for entry in shown))
    RESULTS.write_text("\n".join(line.rstrip() for line in lines) + "\n")
    assert abs(guess / CONSTANT_GUESS - 1.0) <= TOLERANCE
    assert wrong == []
