"""Compute what readers of numbers see tick by tick.

A running count of values above a number, to which an empty tick adds nothing, and a moving average
over the last ticks, which leaves empty ticks out.

>>> first = np.array([0, 0, 0, 3, 3])
>>> running(np.array([1.0, 0, 1, 1, 1]), first).tolist()
[1.0, 1.0, 2.0, 1.0, 2.0]
>>> moving_average(np.array([1.0, np.nan, 3, 5, 9]), first, width=2).tolist()
[1.0, 1.0, 3.0, 5.0, 7.0]
>>> latest(np.array([np.nan, 4.0, np.nan, np.nan, 7.0]), first).tolist()
[nan, 4.0, 4.0, nan, 7.0]
>>> squared_errors(np.array([1.0, 2, 3, 4, 5]), np.array([9.0, 1, 2, 9, 4]), first, lag=1).tolist()
[nan, 0.0, 0.0, nan, 0.0]

Source: TLDP specification, section 9 (FC and SMA); Ye et al. 2021, section V.
"""

import numpy as np

from fugu.operators.mechanism import Floats, Integers


def running(values: Floats, first: Integers) -> Floats:
    """Sum from the beginning of each stream, which is at `first`."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray(total[1:] - total[first])


def moving_average(values: Floats, first: Integers, width: int) -> Floats:
    """Average the last `width` ticks of the stream, those with NaN left out."""
    there = ~np.isnan(values)
    middle = float(values[there].mean()) if there.any() else 0.0
    ends = np.arange(1, len(values) + 1)
    begins = np.maximum(ends - width, first)
    total = np.concatenate([[0.0], np.cumsum(np.where(there, values - middle, 0.0))])
    counts = np.concatenate([[0], np.cumsum(there)])
    within = counts[ends] - counts[begins]
    with np.errstate(invalid="ignore"):
        return np.asarray(middle + (total[ends] - total[begins]) / within)


def latest(values: Floats, first: Integers) -> Floats:
    """Repeat the last value of the stream at ticks that have none (NaN)."""
    places = np.maximum.accumulate(np.where(np.isnan(values), -1, np.arange(len(values))))
    return np.where(places >= first, values[places], np.nan)


def squared_errors(truth: Floats, estimate: Floats, first: Integers, lag: int = 0) -> Floats:
    """Compare with the truth `lag` ticks before; NaN where the stream had not begun then."""
    before = np.arange(len(truth)) - lag
    known = before >= first
    return np.where(known, (estimate - truth[np.where(known, before, 0)]) ** 2, np.nan)
