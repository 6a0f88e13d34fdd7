"""Generate what 20 zones of a power grid draw by the hour in half a year, in units of 10 W.

Each zone has days, weeks and one season, each at a time of its own, and what is left is correlated
from hour to hour.

>>> series = zone_series(seed=1)
>>> series.shape, (series.mean(axis=0) / 1e5).round(2)[[0, 1, 19]].tolist()
((4368, 20), [0.5, 3.76, 214.17])

Source: Swellfish specification, section 7.
"""

import numpy as np

from fugu.operators.mechanism import Integers

TICKS = 4_368
MEANS_MW = (
    *(0.5, 3.77, 8.0, 11.0, 14.3, 18.5, 24.0, 30.0, 37.0, 45.0),
    *(54.0, 64.0, 75.0, 86.0, 98.6, 115.0, 135.0, 158.0, 184.0, 213.6),
)
UNITS_PER_KW = 100
DAILY, WEEKLY, SEASONAL, REST = 0.22, 0.05, 0.12, 0.06
"""Amplitudes, and the standard deviation of the rest, relative to the mean."""
KEPT = 0.8
"""The share of the rest that is kept from hour to hour."""


def zone_series(seed: int) -> Integers:
    """`(TICKS, zones)`."""
    rng, zones, tick = np.random.default_rng(seed), len(MEANS_MW), np.arange(TICKS)[:, None]
    relative = np.ones((TICKS, zones))
    for period, amplitude in ((24, DAILY), (168, WEEKLY), (TICKS, SEASONAL)):
        phase = rng.random(zones)
        relative += amplitude * np.sin(2.0 * np.pi * (tick / period + phase))
    rest, pushes = rng.normal(0.0, REST, zones), rng.normal(size=(TICKS, zones))
    for row, push in zip(relative, pushes, strict=True):
        row += rest
        rest = KEPT * rest + REST * np.sqrt(1.0 - KEPT * KEPT) * push
    units = np.array(MEANS_MW) * 1000.0 * UNITS_PER_KW
    return np.asarray(np.rint(relative * units), dtype=np.int64)
