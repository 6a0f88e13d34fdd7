"""Shaped noise of real-time release: what it gains by noise and correlation."""

import numpy as np

from bench.figures.figure import Figure, Panel
from fugu.operators.realtime.shaped_release import errors_of_a_period, suited
from fugu.operators.totals.buffers import UNIT, participation
from fugu.operators.totals.precision import Changes

_RATIOS = (0.3, 1.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)
_CORRELATIONS = (0.8, 0.9, 0.95, 0.99)
_COUNTED = (1, 4)
_TICKS = 2**12
_NOISY = 5.0


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
            "mean squared error, plain / shaped noise",
            {f"correlation {one:g}": points for one, points in curves.items()},
            (True, False),
        )
        for counted, curves in gains.items()
    ]
    expected = 2.4, 4.4
    chosen = [gain for one in (0.95, 0.99) for ratio, gain in gains[1][one] if ratio >= _NOISY]
    return Figure(
        "shaped-noise",
        "beyond the papers of the seeds (issue 28, point 4)",
        panels,
        "beyond the papers",
        "Where one tick of a person is protected, the correlation is .95 or .99, and the variance "
        f"of the noise is at least {_NOISY:g} times that of the figures, the mean squared error of "
        f"the filter is {min(chosen):.1f} to {max(chosen):.1f} times smaller with shaped noise. "
        f"That is {'less than' if max(chosen) < expected[0] else 'not less than'} the "
        f"{expected[0]:g} to {expected[1]:g} that the issue expects. Where a person "
        f"counts in {max(_COUNTED)} ticks, it is "
        f"{_most(gains[max(_COUNTED)]):.1f} times smaller at most.",
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
