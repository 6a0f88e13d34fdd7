"""Thesis, Figs. 7.2 to 7.17: a local and a central release about the same users."""

from typing import get_args

from bench.figures.figure import Figure, Panel
from bench.figures.thesis_local import errors
from fugu.operators.leakage.combined import Topology, combined
from fugu.operators.leakage.correlation import TemporalCorrelation
from tests.operators.leakage.chains import A, C
from tests.operators.wevent.moving_users import CELLS, STRATEGIES, measured

_TICKS, _WINDOWS, _EPSILON = 10, (10, 20, 40), 1.0
_PAIRS = {"BD": "BD", "BA": "BA", "PBA flags 0": "PBA flags 0"}


def thesis_combined() -> Figure:
    """Compute leakage by topology, and the error of each half beside the other."""
    panels, apart = [], []
    for name, rows in (("A", A), ("C", C)):
        chain = TemporalCorrelation.of(rows, backward=rows)
        curves = {
            topology: [
                (float(ticks), combined(topology, *_halves(chain, ticks)).backward[-1])
                for ticks in range(1, _TICKS + 1)
            ]
            for topology in get_args(Topology)
        }
        apart.append(curves["parallel"][-1][1] - curves["independent"][-1][1])
        title = f"matrix {name}, epsilon 1 and 1 at each tick"
        panels.append(Panel(title, "tick", "leakage, nats", curves, (False, False)))
    local = {w: errors(w, _EPSILON) for w in _WINDOWS}
    central = {
        (w, name): float(
            measured(
                STRATEGIES[name](CELLS, w, _EPSILON, sensitivity=1), stream=1, runs=8, seed=3
            ).absolute.mean()
        )
        for w in _WINDOWS
        for name in _PAIRS
    }
    curves = {f"LDP {name}": [(w, local[w][name]) for w in _WINDOWS] for name in _PAIRS}
    curves |= {f"DP {name}": [(w, central[w, name]) for w in _WINDOWS] for name in _PAIRS.values()}
    panels.append(
        Panel(
            f"2,000 users, epsilon {_EPSILON:g}",
            "window, ticks",
            "mean absolute error, users",
            curves,
            (True, True),
        )
    )
    ratios = [local[w][name] / central[w, name] for w in _WINDOWS for name in _PAIRS]
    return Figure(
        "thesis-combined",
        "Hemkumar 2021, Figs. 7.2 to 7.17 (generated users; of local rivals those that are built)",
        panels,
        "refuted",
        f"The error of the two releases together is that of the local one, {min(ratios):.0f} to "
        f"{max(ratios):.0f} times that of the central one on the same users, whatever the central "
        "strategy: PBA on both sides is not the best pair, as PBA is the best of neither side. "
        "The printed sum of two leakages holds only for independent attributes: for the same data "
        f"it is {abs(apart[0]):.2f} nats too small under matrix A after {_TICKS} ticks, and "
        f"{abs(apart[1]):.2f} too large under C. Nowhere do releases keep 2 epsilon under "
        "correlation (Table 7.1).",
    )


def _halves(
    chain: TemporalCorrelation, ticks: int
) -> tuple[tuple[TemporalCorrelation, list[float]], tuple[TemporalCorrelation, list[float]]]:
    return (chain, [_EPSILON] * ticks), (chain, [_EPSILON] * ticks)
