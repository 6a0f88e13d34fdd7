"""Real-time release, Fig. 11: precision that falls geometrically, for a loss that stays bounded."""

import numpy as np

from bench.figures.figure import Figure, Panel
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.noise.discrete_gaussian import PRECISION
from fugu.operators.realtime.account import exact_budget
from fugu.operators.realtime.schedule import constant, decaying
from tests.operators.realtime.compared import relative
from tests.operators.realtime.series import DELTA, TICKS, correlated, filtered, traffic

_RUNS = 10
_CASES = (("traffic", 0.02), ("traffic", 1.0), ("AR(1)", 5.0), ("AR(1)", 60.0))
_DECAYS = (0.97, 0.975, 0.98, 0.985, 0.99, 0.9925, 0.995, 0.9975, 0.999)
_SCALE = 2.0**PRECISION
"""The deviation of the noise, in steps of the grid on which a sensitivity is so many steps."""
_WEIGHTED = "weights r^((t-1)/2)"


def realtime_decay() -> Figure:
    """Release ten series with each schedule and budget."""
    truths = {
        "traffic": traffic(_RUNS, 1),
        "AR(1)": correlated(np.random.default_rng(1), _RUNS, 0.8, 27.78),
    }
    panels, gains = [], []
    for name, epsilon in _CASES:
        truth, budget = truths[name], exact_budget(epsilon, DELTA)
        even = constant(budget, 1, TICKS).steps(np.arange(TICKS))
        alone = _error(truth, even, weighted=True)
        curves: dict[str, list[tuple[float, float]]] = {_WEIGHTED: [], "adaptive": []}
        for decay in _DECAYS:
            steps = decaying(budget, 1, decay).steps(np.arange(TICKS))
            curves[_WEIGHTED].append((decay, _error(truth, steps, weighted=True)))
            curves["adaptive"].append((decay, _error(truth, steps, weighted=False)))
        better = [decay for decay, found in curves[_WEIGHTED] if found < alone]
        least = f"for r from {min(better):g} to {max(better):g}" if better else "nowhere"
        gains.append(f"{least} on {name} at epsilon {epsilon:g}")
        curves["noise alone, even"] = [(decay, alone) for decay in _DECAYS]
        title = f"{name}, epsilon {epsilon:g} for all ticks"
        panels.append(Panel(title, "r", "relative error", curves, (False, True)))
    return Figure(
        "realtime-figure-11",
        "Zhang, Khalili and Liu 2022, Fig. 11 (generated series)",
        panels,
        "differs",
        f"Over {TICKS:,} ticks the filter with weights r^((t-1)/2) errs less than even noise "
        f"{', '.join(gains)}"
        ": that some r below 1 does for any loss holds where noise is large beside what the "
        "series moves by, and not where a series with a season is hardly predictable from its "
        "last value. That every larger r does, too, does not hold here, since the schedule keeps "
        "a part of the budget for ticks after the last one.",
    )


def _error(truth: Floats, steps: Integers, *, weighted: bool) -> float:
    measured = np.maximum(steps, 1)[:, None, None]
    variance = (_SCALE / measured) ** 2
    weight = measured / measured[0] if weighted else None
    return relative(filtered(truth[:, :, None], variance, seed=4, weight=weight).squared.T, truth)
