"""Real-time release, Fig. 14: the speed of a vehicle under two levels of noise."""

from math import sqrt

import numpy as np

from bench.figures.figure import Figure, Panel
from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Floats
from fugu.operators.realtime.account import exact_budget
from tests.operators.realtime.series import filtering_of

_SECONDS, _TOP, _DELTA = 1370, 57.0, 1e-7
"""Seconds and largest miles per hour of the FTP drive cycle, and delta."""
_DEVIATIONS = (20.0, 5.0)
_STOPS, _COAST, _HOLD = 22, 1.2, 0.02
_MOST = 1e6
_HALVINGS = 60


def realtime_drive() -> Figure:
    """Release a generated drive cycle whose whole range is the sensitivity."""
    speed, panels, told = _drive(np.random.default_rng(7)), [], []
    for deviation in _DEVIATIONS:
        rng = np.random.default_rng(5)
        noisy = speed + rng.normal(0.0, deviation, _SECONDS)
        steps = filtering_of(speed[:, None, None], np.array([deviation**2]), seed=5)
        filtered = np.array([one.estimate[0, 0] for _, one, _ in steps])
        rms = [sqrt(float(((values - speed) ** 2).mean())) for values in (noisy, filtered)]
        curves = {"noise alone": noisy, "adaptive": filtered, "true": speed}
        panels.append(
            Panel(
                f"noise of {deviation:g} mph, epsilon {_epsilon(deviation):,.0f}",
                "second",
                "speed, mph",
                {name: list(enumerate(map(float, line))) for name, line in curves.items()},
                (False, False),
            )
        )
        told.append(
            f"{rms[1]:.1f} instead of {rms[0]:.1f} mph at a noise of {deviation:g} mph "
            f"(epsilon {_epsilon(deviation):,.0f})"
        )
    return Figure(
        "realtime-figure-14",
        "Zhang, Khalili and Liu 2022, Fig. 14 (a generated drive cycle; FTP's is not used)",
        panels,
        "differs",
        f"The filter errs {', and '.join(told)} over {_SECONDS:,} seconds, so profiles are "
        "smoother than under noise alone, as printed. But with the range of speeds as "
        "sensitivity, as the paper has it, both levels protect nobody: a profile that is of use "
        "costs thousands of nats.",
    )


def _epsilon(deviation: float) -> float:
    """Return the epsilon of such noise at every second, to a thousandth."""
    rho = _SECONDS * (_TOP / deviation) ** 2 / 2.0
    low, high = 0.0, _MOST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if in_nats(exact_budget(middle, _DELTA)) < rho else (low, middle)
    return high


def _drive(rng: np.random.Generator) -> Floats:
    """Drive from stop to stop: speed up to a limit, hold it with small changes, and brake."""
    speed, limit, halted = 0.0, 0.0, 0
    ends = np.sort(rng.choice(_SECONDS, _STOPS, replace=False))
    driven = np.zeros(_SECONDS)
    for second in range(_SECONDS):
        if second in ends:
            halted, limit = int(rng.integers(25, 45)), float(rng.uniform(20.0, _TOP))
        halted -= 1
        aim = 0.0 if halted > 0 else limit
        speed += float(np.clip(aim - speed, -3.0 * _COAST, _COAST) * (1 - _HOLD))
        speed = float(np.clip(speed + (rng.normal(0.0, 0.3) if speed > 1.0 else 0.0), 0.0, _TOP))
        driven[second] = speed
    return driven
