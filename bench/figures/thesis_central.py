"""Thesis, Figs. 5.6 to 5.13: errors of central strategies by window and by epsilon."""

import numpy as np

from bench.figures.figure import Figure, Panel
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.wevent.quantified import Quantified
from tests.operators.wevent.moving_users import (
    CELLS,
    CONSTANT_GUESS,
    MOVES,
    STRATEGIES,
    Measured,
    measured,
    popular,
)

_RUNS, _STREAM = 8, 1
_WINDOWS, _EPSILONS = (10, 20, 40, 80), (0.1, 0.5, 1.0, 2.0)
_WINDOW, _EPSILON = 40, 1.0
_QUANTIFIED = "quantified"


def thesis_central() -> Figure:
    """Release counts of 2,000 moving users in 50 cells and 300 ticks, eight times each."""
    by_window = {w: _errors(w, _EPSILON) for w in _WINDOWS}
    by_epsilon = {e: _errors(_WINDOW, e) for e in _EPSILONS}
    panels = []
    for title, across, found in (
        (f"epsilon {_EPSILON:g}", "window, ticks", by_window),
        (f"window of {_WINDOW} ticks", "epsilon of a window", by_epsilon),
    ):
        for up, part in (("mean absolute error", "absolute"), ("mean squared error", "squared")):
            curves = {
                name: [(at, float(getattr(row[name], part).mean())) for at, row in found.items()]
                for name in (*STRATEGIES, _QUANTIFIED)
            }
            panels.append(Panel(title, across, f"{up}, users", curves, (True, True)))
    rows = {**{(w, _EPSILON): row for w, row in by_window.items()}}
    rows |= {(_WINDOW, e): row for e, row in by_epsilon.items()}
    best = [_best(row) for row in rows.values()]
    pba, bd = (
        np.array([float(row[name].absolute.mean()) for row in rows.values()])
        for name in ("PBA flags 0", "BD")
    )
    return Figure(
        "thesis-central",
        "Hemkumar 2021, Figs. 5.6 to 5.13 (generated users, not the data sets; no central PIM)",
        panels,
        "refuted" if "PBA flags 0" not in best else "differs",
        "Errors grow with the window and fall with epsilon, and Uniform is worst for long windows, "
        f"as printed. But PBA errs least at {best.count('PBA flags 0')} of {len(rows)} points: "
        f"the best is {_told(best)}. With all ticks flagged PBA is BD; without flags it errs "
        f"{(pba / bd).min():.2f} to {(pba / bd).max():.2f} times as much. quantified keeps the "
        "leakage about one tick under these moves at epsilon, not that about a window, so its "
        f"error does not depend on the window. Publishing a constant errs {CONSTANT_GUESS:g}.",
    )


def _errors(window: int, epsilon: float) -> dict[str, Measured]:
    strategies = {
        name: make(CELLS, window, epsilon, sensitivity=1) for name, make in STRATEGIES.items()
    }
    strategies[_QUANTIFIED] = Quantified.for_leakage(
        _moves(), epsilon, bins=CELLS, window=window, sensitivity=2
    )
    return {
        name: measured(one, stream=_STREAM, runs=_RUNS, seed=3) for name, one in strategies.items()
    }


def _moves() -> TemporalCorrelation:
    """Return the chain of the users before popularity changes."""
    stays, on, back, jumps = MOVES
    around = np.eye(CELLS)
    return TemporalCorrelation.of(
        stays * around
        + on * np.roll(around, 1, axis=1)
        + back * np.roll(around, -1, axis=1)
        + jumps * popular()
    )


def _best(row: dict[str, Measured]) -> str:
    w_event = [name for name in row if name != _QUANTIFIED]
    return min(w_event, key=lambda name: float(row[name].absolute.mean()))


def _told(best: list[str]) -> str:
    return ", ".join(f"{name} at {best.count(name)}" for name in dict.fromkeys(best))
