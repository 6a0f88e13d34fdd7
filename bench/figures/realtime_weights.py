"""Real-time release, errors by weight: exactly, as Theorem 6.1 prints, and of the best filter."""

from math import sqrt

from bench.figures.figure import Figure, Panel
from tests.operators.realtime.test_fixed_weights import Case, exact, kalman, pull

_CASES: tuple[Case, ...] = ((0.8, 27.78, 416.0), (0.8, 27.78, 20.0), (0.95, 1.0, 5.0))
_WEIGHTS = tuple(0.02 * step for step in range(1, 50))


def realtime_weights() -> Figure:
    """Compute stationary errors of AR(1) series by the formula of the specification, section 6."""
    panels = [
        Panel(
            f"correlation {case[0]:g}, variance {case[1]:g}, noise {case[2]:g}",
            "weight of a noisy value",
            "MSE",
            {
                "exact": [(weight, exact(case, weight)) for weight in _WEIGHTS],
                "Theorem 6.1 as printed": [(weight, _printed(case, weight)) for weight in _WEIGHTS],
                "noise alone": [(weight, case[2]) for weight in _WEIGHTS],
                "Kalman filter": [(weight, kalman(case)) for weight in _WEIGHTS],
            },
        )
        for case in _CASES
    ]
    times = max(exact(case, w) / _printed(case, w) for case in _CASES for w in _WEIGHTS)
    least = [min(exact(case, weight) for weight in _WEIGHTS) for case in _CASES]
    near = max(best / kalman(case) for best, case in zip(least, _CASES, strict=True))
    return Figure(
        "realtime-weights",
        "Zhang, Khalili and Liu 2022, Theorem 6.1 and errors by weight (computed, no data)",
        panels,
        "differs",
        "There is a best weight between 0 and 1, as the paper says, and with known parameters it "
        f"is within {near - 1:.0%} of the best filter. But the printed theorem is too small by a "
        f"factor of up to {times:.1f} for small weights, because it takes the last estimate for "
        "the last noisy value.",
    )


def _printed(case: Case, weight: float) -> float:
    """Return Theorem 6.1: the error if the last release were the last noisy value."""
    correlation, true, noise = case
    drawn = weight * sqrt(noise)
    slope = pull(case, weight)
    spread = true + drawn**2
    off = true + slope**2 * spread - 2.0 * slope * correlation * true
    return (1.0 - weight) ** 2 * off + drawn**2
