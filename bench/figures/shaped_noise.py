"""Shaped noise of real-time release: what it gains by noise and correlation."""

import numpy as np

from bench.figures.figure import Figure, Panel
from fugu.operators.realtime.shaping import errors_of_a_period, suited
from fugu.operators.totals.buffers import UNIT, participation
from fugu.operators.totals.precision import Changes

_RATIOS = (0.3, 1.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)
_CORRELATIONS = (0.8, 0.9, 0.95, 0.99)
_COUNTED = (1, 4)
_TICKS = 2**12


def shaped_noise() -> Figure:
    """Compute errors over a period of the filter that knows the model, mixed and unmixed."""
    gains = {
        counted: {
            correlation: [(ratio, _gain(correlation, ratio, counted)) for ratio in _RATIOS]
            for correlation in _CORRELATIONS
        }
        for counted in _COUNTED
    }
    panels = [
        Panel(
            f"a person counts in {counted} of {_TICKS:,} ticks",
            "variance of noise / variance of figures",
            "times less error variance",
            {f"correlation {one:g}": points for one, points in curves.items()},
            (True, False),
        )
        for counted, curves in gains.items()
    ]
    high = [gain for one in (0.95, 0.99) for ratio, gain in gains[1][one] if ratio >= 5]
    most, later = max(high), 2.4
    return Figure(
        "shaped-noise",
        "beyond the papers of the seeds (issue 28, point 4)",
        panels,
        "beyond the papers",
        f"With correlations .95 to .99 and noise of 5 times the variance or more, shaped noise "
        f"gains {min(high):.1f} to {most:.1f} times where one tick is protected, "
        f"{'less than' if most < later else 'as much as'} the {later} to 4.4 of the issue, which "
        "are those of smoothing afterwards; where a person counts in "
        f"{max(_COUNTED)} ticks, {_most(gains[max(_COUNTED)]):.1f} times at most.",
    )


def _most(curves: dict[float, list[tuple[float, float]]]) -> float:
    return max(gain for points in curves.values() for _, gain in points)


def _gain(correlation: float, ratio: float, counted: int) -> float:
    changes = Changes(_TICKS, counted, 1, 1, 1)
    noise = ratio * counted
    buffers = suited(changes, correlation, noise)
    weight, factor = np.array([[*buffers.weights], [*buffers.factors]]) / UNIT
    norm = float(participation(buffers, _TICKS, counted)) / counted
    mixed = errors_of_a_period(correlation, weight, factor, np.array([noise * norm]), _TICKS)
    none = np.zeros(1)
    plain = errors_of_a_period(correlation, none, none, np.array([noise]), _TICKS)
    return float(plain[0] / mixed[0])
