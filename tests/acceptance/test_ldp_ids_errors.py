"""The LDP-IDS columns of the local table of section 9 of the PBA specification.

What the paper decides in the same tick is run as a reference, and compared with the print; what
Fugu runs decides one tick ahead, and stands beside it. Writes `results/ldp_ids_errors.txt`.

The print is of 10 seeds and has a standard error of up to 4 %, and streams of the same law differ;
runs here are of several streams. A mean may be 10 % off, or what both errors explain together.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from tests.operators.ldp_ids.moving_users import Cell, added_at_once, ahead, cells, same_tick

RESULTS = Path(__file__).parent / "results" / "ldp_ids_errors.txt"
RUNS, TOLERANCE = 8, 0.10
PRINTED_ERROR, MOST_ERRORS = 0.04, 2.0


HEADER = [
    f"Mean absolute error per tick and cell of 2,000 moving users, +- standard error over {RUNS}",
    "streams of the same law, SUE; in brackets, what the specification (section 9) prints. Of",
    "mechanisms that decide, the first number is that of Fugu, which decides one tick ahead, and",
    "the second one that of the paper, which decides and publishes in the same tick; the print is",
    "of the second.",
    "",
    "w   eps",
]


UNEXPLAINED = ["40, 5: lba"]
"""Name cells that differ from the print by more than chance and 10 %: this one errs by 10 to 13 %
more, in the same tick and one tick ahead, over all streams that were tried. The reason is not
known."""


@pytest.mark.acceptance
def test_errors_of_ldp_ids_are_those_of_section_9() -> None:
    lines, wrong = [*HEADER], list[str]()
    for (window, epsilon), row in groupby(cells(), key=lambda cell: (cell.window, cell.epsilon)):
        shown, differ = row_of(row)
        lines += [f"{window:<3} {epsilon:<4g}", *(f"    {one}" for one in shown)]
        wrong += differ
    RESULTS.write_text("\n".join(lines) + "\n")
    assert wrong == UNEXPLAINED


def row_of(row: Iterable[Cell]) -> tuple[list[str], list[str]]:
    """Return all entries of a row, and those that differ from the print."""
    shown, wrong = list[str](), list[str]()
    for cell in row:
        fugu, paper = _measured(cell)
        compared = fugu if paper is None else paper
        text = f"{cell.kind} {_told(fugu)}"
        text += "" if paper is None else f" / {_told(paper)}"
        shown.append(text + ("" if cell.absolute is None else f" [{cell.absolute:g}]"))
        if cell.absolute and _differs(compared, cell.absolute):
            wrong.append(f"{cell.window}, {cell.epsilon:g}: {cell.kind}")
    return shown, wrong


def _measured(cell: Cell) -> tuple[np.ndarray, np.ndarray | None]:
    streams = range(1, RUNS + 1)
    with added_at_once():
        return _runs(cell, streams)


def _runs(cell: Cell, streams: Sequence[int]) -> tuple[np.ndarray, np.ndarray | None]:
    fugu = np.array([ahead(cell, s, np.random.default_rng(s)) for s in streams])
    if not cell.decides:
        return fugu, None
    paper = [same_tick(cell, s, np.random.default_rng(100 + s)) for s in streams]
    return fugu, np.array(paper)


def _differs(errors: np.ndarray, printed: float) -> bool:
    own = errors.std(ddof=1) / sqrt(RUNS)
    explained = MOST_ERRORS * sqrt(own**2 + (PRINTED_ERROR * printed) ** 2)
    return bool(abs(errors.mean() - printed) > max(TOLERANCE * printed, explained))


def _told(errors: np.ndarray) -> str:
    return f"{errors.mean():.4g} +-{errors.std(ddof=1) / sqrt(RUNS):.2g}"
