"""SIP, Fig. 10: run time by the length of a sequence."""

from statistics import median
from time import perf_counter

import numpy as np

from bench.figures import gaze
from bench.figures.figure import Figure, Panel
from bench.figures.symbol_runs import released
from fugu.operators.mechanism import Integers, Mechanism

_LENGTHS = (10, 30, 100, 300)
_EPSILON, _TIMES = 0.2, 5
_LINEAR = 1.25
"""An exponent of the length from which on time is not linear."""


def sip_runtime() -> Figure:
    """Release one person's gaze, up to 6 seconds of it, five times, and take median times."""
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
            times = [_seconds(mechanism, truths[:length]) for _ in range(_TIMES)]
            curves.setdefault(name, []).append((float(length), median(times)))
    lengths = np.log(_LENGTHS[1:])
    slopes = {
        name: float(np.polyfit(lengths, np.log([seconds for _, seconds in curve[1:]]), 1)[0])
        for name, curve in curves.items()
    }
    told = ", ".join(
        f"{name} {1e3 * curve[-1][1] / _LENGTHS[-1]:.2f} ms a sample (exponent {slopes[name]:.2f})"
        for name, curve in curves.items()
    )
    steep = [name for name, slope in slopes.items() if slope >= _LINEAR]
    return Figure(
        "sip-figure-10",
        f"Jiang, Li and Tandon 2024, Fig. 10 (100 cells, one stream; medians of {_TIMES} times on "
        "one machine)",
        [Panel("one stream of gaze", "samples", "seconds", curves, (True, True))],
        "refuted" if set(steep) - {"pim"} else "differs" if not steep else "reproduced",
        f"At {_LENGTHS[-1]} samples: {told}. An exponent is that of the time by the length, from "
        f"{_LENGTHS[1]} samples on. {_verdict(steep)} The set of pim follows from the belief, "
        "which has the size of the grid and not of the stream.",
    )


def _verdict(steep: list[str]) -> str:
    if not steep:
        return (
            f"All are below {_LINEAR:g}: crr and batches are linear, as printed, and pim is, too, "
            "where the paper has the fourth power."
        )
    return f"More than linear (exponent {_LINEAR:g} and above): {', '.join(steep)}."


def _seconds(mechanism: Mechanism, truths: Integers) -> float:
    began = perf_counter()
    released(mechanism, truths, seed=5)
    return perf_counter() - began
