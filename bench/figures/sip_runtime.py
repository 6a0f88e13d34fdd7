"""SIP, Fig. 10: run time by the length of a sequence."""

from time import perf_counter

import numpy as np

from bench.figures import gaze
from bench.figures.figure import Figure, Panel
from bench.figures.symbol_runs import released

_LENGTHS = (10, 30, 100, 300)
_EPSILON = 0.2


def sip_runtime() -> Figure:
    """Release one person's gaze, up to 6 seconds of it, and measure how long that takes."""
    people = gaze.Gaze()
    model, truths = people.model(), people.samples(max(_LENGTHS), seed=31)[:, :1]
    mechanisms = {
        **gaze.one_by_one(model, _EPSILON),
        **{f"batches of {window}": gaze.in_batches(model, window, _EPSILON) for window in (5, 10)},
    }
    del mechanisms["pim, 2 epsilon"]
    curves: dict[str, list[tuple[float, float]]] = {}
    for name, mechanism in mechanisms.items():
        released(mechanism, truths[:10], seed=5)
        for length in _LENGTHS:
            began = perf_counter()
            released(mechanism, truths[:length], seed=5)
            curves.setdefault(name, []).append((float(length), perf_counter() - began))
    lengths = np.log(_LENGTHS[1:])
    slopes = {
        name: float(np.polyfit(lengths, np.log([seconds for _, seconds in curve[1:]]), 1)[0])
        for name, curve in curves.items()
    }
    told = ", ".join(
        f"{name} {1e3 * curve[-1][1] / _LENGTHS[-1]:.2f} ms a sample (exponent {slopes[name]:.2f})"
        for name, curve in curves.items()
    )
    linear = all(slope < 1.2 for slope in slopes.values())
    return Figure(
        "sip-figure-10",
        "Jiang, Li and Tandon 2024, Fig. 10 (100 cells, one stream; times of one machine)",
        [Panel("one stream of gaze", "samples", "seconds", curves, (True, True))],
        "differs" if linear else "refuted",
        f"{told}. crr and batches are linear in the length, as printed; pim is, too, and not of "
        "the fourth power: its set follows from the belief, which has the size of the grid, not "
        "of the stream.",
    )
