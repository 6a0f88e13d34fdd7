"""Thesis, Figs. 6.7 to 6.14: errors of counts from reports of users by window and by epsilon."""

import numpy as np

from bench.figures.figure import Figure, Panel
from fugu.operators.wevent.pba import Schedule
from fugu.operators.wevent_local.strategies import LocalPrivacyBudgetAllocation
from tests.acceptance.test_local_window_errors import SECOND, measured
from tests.operators.ldp_ids.moving_users import Cell, added_at_once, ahead
from tests.operators.wevent.moving_users import CELLS, CONSTANT_GUESS

_WINDOWS, _EPSILONS = (10, 20, 40), (1.0, 5.0, 10.0)
_WINDOW, _EPSILON, _STREAM = 40, 1.0, 1
_COLLECTED = {"lbu": "uniform", "lsp": "sample", "lbd": "BD", "lba": "BA"}
_FLAGS = {"PBA flags 0": False, "PBA flags 1": True}


def thesis_local() -> Figure:
    """Estimate counts of 2,000 moving users in 50 cells from their reports."""
    by_window = {w: errors(w, _EPSILON) for w in _WINDOWS}
    by_epsilon = {e: errors(_WINDOW, e) for e in _EPSILONS}
    panels = [
        Panel(
            title,
            across,
            "mean absolute error, users",
            {name: [(at, row[name]) for at, row in found.items()] for name in by_window[10]},
            (True, True),
        )
        for title, across, found in (
            (f"epsilon {_EPSILON:g}", "window, ticks", by_window),
            (f"window of {_WINDOW} ticks", "epsilon of a window", by_epsilon),
        )
    ]
    others = [row for epsilon, row in by_epsilon.items() if epsilon != _EPSILON]
    rows = [*by_window.values(), *others]
    best = {min(row, key=row.__getitem__) for row in rows}
    beside = [row[pba] / row["BA"] for row in rows for pba in _FLAGS]
    useful = sum(error < CONSTANT_GUESS for row in rows for error in row.values())
    return Figure(
        "thesis-local",
        "Hemkumar 2021, Figs. 6.7 to 6.14 (generated users, one run each; counts instead of "
        "|x - y| of a user)",
        panels,
        "refuted" if not any(name in best for name in _FLAGS) else "differs",
        "Errors grow with the window and fall with epsilon, as printed. But PBA is never the best: "
        f"that is {' or '.join(sorted(best))} everywhere, and PBA errs "
        f"{min(beside):.1f} to {max(beside):.1f} times as much as budget absorption (BA). "
        f"With 2,000 users {useful} of {len(rows) * len(rows[0])} points err less than the "
        f"{CONSTANT_GUESS:g} of a constant: reports of a window this long need far more users.",
    )


def errors(window: int, epsilon: float) -> dict[str, float]:
    """Return mean absolute errors of counts by mechanism, one run each."""
    found = {}
    with added_at_once():
        for kind, name in _COLLECTED.items():
            cell = Cell(window, epsilon, kind, None)
            found[name] = ahead(cell, _STREAM, np.random.default_rng(1))
    for name, flag in _FLAGS.items():
        pba = LocalPrivacyBudgetAllocation(
            CELLS, window, epsilon, flags=Schedule((flag,)), ticks=SECOND
        )
        found[name] = float(measured(pba, runs=1)[0])
    return found
