"""Thesis, Figs. 7.2 to 7.17: a local and a central release about the same users."""

from typing import get_args

from bench.figures.figure import Figure, Panel
from bench.figures.thesis_local import errors
from fugu.operators.leakage.combined import Topology, combined
from fugu.operators.leakage.correlation import TemporalCorrelation
from tests.operators.leakage.chains import A, C
from tests.operators.wevent.moving_users import CELLS, STRATEGIES, measured

_TICKS, _WINDOWS, _EPSILON = 10, (10, 20, 40), 1.0
_PBA = "PBA flags 0"
_PAIRS = ("BD", "BA", _PBA)


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
    curves |= {f"DP {name}": [(w, central[w, name]) for w in _WINDOWS] for name in _PAIRS}
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
    firsts = {
        "central": sum(
            all(central[w, _PBA] <= central[w, one] for one in _PAIRS) for w in _WINDOWS
        ),
        "local": sum(all(local[w][_PBA] <= local[w][one] for one in _PAIRS) for w in _WINDOWS),
    }
    whole = all(count == len(_WINDOWS) for count in firsts.values())
    none = not any(firsts.values())
    kept = sum(
        curve[-1][1] <= 2.0 * _EPSILON for panel in panels[:-1] for curve in panel.curves.values()
    )
    shown = sum(len(panel.curves) for panel in panels[:-1])
    return Figure(
        "thesis-combined",
        "Hemkumar 2021, Figs. 7.2 to 7.17 (generated users; of local rivals those that are built)",
        panels,
        "refuted" if none and kept == 0 else "reproduced" if whole and kept == shown else "differs",
        f"The error of the two releases together is that of the local one, {min(ratios):.0f} to "
        f"{max(ratios):.0f} times that of the central one on the same users, whatever the central "
        "strategy. The thesis has PBA on both sides as the best pair: among BD, BA and PBA it is "
        f"the best central one at {firsts['central']} of {len(_WINDOWS)} windows, and the best "
        f"local one at {firsts['local']}. The printed sum of two leakages holds only for "
        f"independent attributes: where both are the same attribute it is {_apart(apart[0])} under "
        f"matrix A after {_TICKS} ticks, and {_apart(apart[1])} under C. After these ticks "
        f"{kept or 'none'} of the {shown} leakages shown {'is' if kept < 2 else 'are'} at most 2 "
        "epsilon, which Table 7.1 promises.",
    )


def _apart(nats: float) -> str:
    """Say what the sum lacks of the leakage, or has too much."""
    return f"{abs(nats):.2f} nats too {'small' if nats > 0.0 else 'large'}"


def _halves(
    chain: TemporalCorrelation, ticks: int
) -> tuple[tuple[TemporalCorrelation, list[float]], tuple[TemporalCorrelation, list[float]]]:
    return (chain, [_EPSILON] * ticks), (chain, [_EPSILON] * ticks)
