"""Real-time release, Fig. 6: ten releases of the same week of traffic, by method."""

import numpy as np

from bench.figures.figure import Figure, Panel, Points
from fugu.operators.mechanism import Floats
from fugu.operators.realtime import rivals
from fugu.operators.realtime.account import paper_total
from tests.operators.realtime import compared
from tests.operators.realtime.series import DELTA, TICKS, filtering_of, noise_variance, traffic

_RUNS = 10
_EPSILON = 0.1
_SHOWN = slice(TICKS - 98, TICKS)
"""The last week of 14 hours a day."""


def realtime_paths() -> Figure:
    """Release one series ten times at epsilon 0.1 for all ticks."""
    truth = np.repeat(traffic(1, 1), _RUNS, axis=1)
    rng, total = np.random.default_rng(3), paper_total(_EPSILON, DELTA)
    noisy = rivals.laplace(truth, epsilon=_EPSILON, sensitivity=1.0, rng=rng)
    smooth = min(compared.smoothed(noisy, _EPSILON), key=lambda one: compared.error(one, truth))
    whole = [
        rivals.kept_frequencies(truth, kept=kept, epsilon=_EPSILON, sensitivity=1.0, rng=rng)
        for kept in compared.KEPT
    ]
    told = filtering_of(truth[:, :, None], np.array([noise_variance(_EPSILON)]), seed=4)
    released = {
        "Laplace": noisy,
        "FAST*": smooth,
        "DFT*": min(whole, key=lambda one: compared.error(one, truth)),
        "Normal": rivals.normal(truth, total=total, sensitivity=1.0, rng=rng),
        "adaptive": np.array([one.estimate[:, 0] for _, one, _ in told]),
    }
    ranges = {
        name: float((values.max(axis=1) - values.min(axis=1))[_SHOWN].mean())
        for name, values in released.items()
    }
    peak = float(truth.max())
    return Figure(
        "realtime-figure-6",
        "Zhang, Khalili and Liu 2022, Fig. 6 (generated traffic; *: parameters chosen by the "
        "truth)",
        [_panel(name, values, truth[:, 0]) for name, values in released.items()],
        "reproduced" if ranges["adaptive"] <= ranges["Normal"] < ranges["Laplace"] else "refuted",
        f"At epsilon {_EPSILON:g} for all {TICKS:,} ticks ten releases of a tick lie "
        f"{_told(ranges, peak)} of the peak of {peak:,.0f} vehicles apart on average: the filter "
        "is narrower than Gaussian noise (Normal), and that than Laplace, as printed. FAST* is "
        "narrow because it keeps to the mean and misses the two humps of a day, DFT* misses their "
        "height.",
    )


def _told(ranges: dict[str, float], peak: float) -> str:
    return ", ".join(f"{width / peak:.0%} ({name})" for name, width in ranges.items())


def _panel(name: str, values: Floats, truth: Floats) -> Panel:
    curves = {
        "largest": values.max(axis=1),
        "smallest": values.min(axis=1),
        "true": truth,
    }
    return Panel(
        name,
        "tick, hours of 14 a day",
        "vehicles in an hour",
        {label: _points(curve) for label, curve in curves.items()},
        (False, False),
    )


def _points(values: Floats) -> Points:
    ticks = range(_SHOWN.start, _SHOWN.stop)
    return [(float(tick), float(value)) for tick, value in zip(ticks, values[_SHOWN], strict=True)]
