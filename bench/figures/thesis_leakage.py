"""Thesis, Figs. 5.4, 5.5 and 6.4 to 6.6: what all releases tell by correlation."""

from math import log

import numpy as np

from bench.figures.figure import Figure, Panel
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.mechanism import Floats
from tests.operators.leakage.chains import IDENTITY, UNIFORM, A

_TICKS = 10
_EPSILONS = (1.0, 0.1)
_SIZES = (10, 50, 200)
_SMOOTHINGS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_KINDS = {"strong (identity)": IDENTITY, "moderate": A, "none": UNIFORM}


def thesis_leakage() -> Figure:
    """Compute leakage about a tick by the releases up to it, and by all, without data."""
    spends = [1.0] * _TICKS
    over_time = {
        name: TemporalCorrelation.of(rows, backward=rows).over(spends).backward
        for name, rows in _KINDS.items()
    }
    curves = {
        name: [(float(tick), nats) for tick, nats in enumerate(leaked, 1)]
        for name, leaked in over_time.items()
    }
    panels = [Panel("epsilon 1 at each tick", "tick", "leakage, nats", curves, (False, False))]
    by_size = {size: [_blurred(size, one) for one in _SMOOTHINGS] for size in _SIZES}
    falls, fewer = True, True
    for epsilon in _EPSILONS:
        found = {
            f"{size} places": [
                (smoothing, max(chain.over([epsilon] * _TICKS).total))
                for smoothing, chain in zip(_SMOOTHINGS, chains, strict=True)
            ]
            for size, chains in by_size.items()
        }
        values = np.array([[leaked for _, leaked in curve] for curve in found.values()])
        falls &= bool((np.diff(values, axis=1) <= 1e-9).all())
        fewer &= bool((np.diff(values, axis=0) <= 1e-9).all())
        title = f"all of {_TICKS} ticks, epsilon {epsilon:g} each"
        panels.append(
            Panel(title, "share of moves to anywhere", "leakage, nats", found, (True, False))
        )
    last = {name: leaked[-1] for name, leaked in over_time.items()}
    slope = 1.0 + log(A[0][0])
    return Figure(
        "thesis-leakage",
        "Hemkumar 2021, Figs. 5.4, 5.5 and 6.4 to 6.6 (computed; places are left with a chance)",
        panels,
        "differs",
        f"After {_TICKS} ticks of epsilon 1 all releases tell {last['strong (identity)']:.0f} "
        f"nats about a tick under the strongest correlation, {last['moderate']:.2f} under the "
        f"moderate one and {last['none']:.0f} under none, as printed; but the moderate curve is "
        "no mean of both: under this matrix it grows without end, by "
        f"{slope:.2f} nats a tick at last. Leakage falls as moves go anywhere"
        f"{'' if falls else ' (not everywhere)'}, "
        + (
            "and more places leak less at epsilon 1 and 0.1, as printed."
            if fewer
            else "but more places leak more, not less, as long as a place is left with the same "
            "chance: in the thesis they leak less because their matrices are flatter."
        ),
    )


def _blurred(size: int, share: float) -> TemporalCorrelation:
    """Stay, or with a chance of `share` go anywhere."""
    rows: Floats = (1.0 - share) * np.eye(size) + share / size
    return TemporalCorrelation.of(rows)
