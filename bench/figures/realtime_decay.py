"""Real-time release, Fig. 11: precision that falls geometrically, for a loss that stays bounded."""

import numpy as np

from bench.figures.figure import Figure, Panel
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.noise.gaussian_table import PRECISION
from fugu.operators.realtime.account import constant, decaying, exact_budget
from tests.operators.realtime.compared import relative
from tests.operators.realtime.series import DELTA, TICKS, correlated, filtered, traffic

_RUNS = 10
_CASES = (("traffic", 0.02), ("traffic", 1.0), ("AR(1)", 5.0), ("AR(1)", 60.0))
_DECAYS = (0.97, 0.975, 0.98, 0.985, 0.99, 0.9925, 0.995, 0.9975, 0.999)
_SCALE = 2.0**PRECISION
"""The deviation of the noise, in steps of the grid on which a sensitivity is so many steps."""
_WEIGHTED = "weights r^((t-1)/2)"
_WHOLE = "the same, all spent in time"


def realtime_decay() -> Figure:
    """Release ten series with each schedule and budget.

    A schedule that falls for ever keeps a part of its budget for ticks after the last one. So each
    is run again with a budget of which it spends as much within the ticks as even noise does.
    """
    truths = {
        "traffic": traffic(_RUNS, 1),
        "AR(1)": correlated(np.random.default_rng(1), _RUNS, 0.8, 27.78),
    }
    panels, gains, whole, last = [], [], [], _DECAYS[-1]
    for name, epsilon in _CASES:
        truth, budget = truths[name], exact_budget(epsilon, DELTA)
        even = constant(budget, 1, TICKS).steps(np.arange(TICKS))
        alone = _error(truth, even, weighted=True)
        curves: dict[str, list[tuple[float, float]]] = {_WEIGHTED: [], _WHOLE: [], "adaptive": []}
        for decay in _DECAYS:
            steps = _steps(budget, decay)
            spent = _steps(int(budget / _spent(decay)), decay)
            curves[_WEIGHTED].append((decay, _error(truth, steps, weighted=True)))
            curves[_WHOLE].append((decay, _error(truth, spent, weighted=True)))
            curves["adaptive"].append((decay, _error(truth, steps, weighted=False)))
        better = [decay for decay, found in curves[_WEIGHTED] if found < alone]
        least = f"for r from {min(better):g} to {max(better):g}" if better else "nowhere"
        noise = _SCALE / even[0] / float(np.diff(truth, axis=0).std())
        gains.append(
            f"{least} on {name} at epsilon {epsilon:g} (noise {noise:.2g} times the change)"
        )
        if dict(curves[_WHOLE])[last] < alone:
            whole.append((name, epsilon))
        curves["noise alone, even"] = [(decay, alone) for decay in _DECAYS]
        title = f"{name}, epsilon {epsilon:g} for all ticks"
        panels.append(Panel(title, "r", "relative error", curves, (False, True)))
    held = all("nowhere" not in gain for gain in gains)
    upwards = all(f"to {last:g}" in gain for gain in gains)
    return Figure(
        "realtime-figure-11",
        "Zhang, Khalili and Liu 2022, Fig. 11 (generated series)",
        panels,
        "reproduced" if held and upwards else "differs",
        f"Over {TICKS:,} ticks the filter with weights r^((t-1)/2) errs less than even noise "
        f"{', '.join(gains)}; the deviation of even noise is given as a multiple of that of the "
        "change of the series from tick to tick. The paper says that, for any loss, there is an r "
        f"from which on every larger one errs less. At r = {last:g} the schedule keeps "
        f"{1.0 - _spent(last):.0%} of the budget for ticks after the last one; if it spends all of "
        f"it in time, it errs less than even noise there in {len(whole)} of {len(_CASES)} cases.",
    )


def _steps(budget: int, decay: float) -> Integers:
    return decaying(budget, 1, decay).steps(np.arange(TICKS))


def _spent(decay: float) -> float:
    """Return the share of its budget that a falling schedule spends within the ticks."""
    costs = decay ** np.arange(1, TICKS)
    costs[0] = 1.0
    return float((1.0 + costs.sum()) / (2.0 + decay**2 / (1.0 - decay)))


def _error(truth: Floats, steps: Integers, *, weighted: bool) -> float:
    measured = np.maximum(steps, 1)[:, None, None]
    variance = (_SCALE / measured) ** 2
    weight = measured / measured[0] if weighted else None
    return relative(filtered(truth[:, :, None], variance, seed=4, weight=weight).squared.T, truth)
