"""Choose how values are mixed before noise is added, for what a filter makes of them."""

from math import isqrt

import numpy as np

from fugu.operators.mechanism import Floats
from fugu.operators.totals.buffers import UNIT, Buffers
from fugu.operators.totals.fitted import UNMIXED
from fugu.operators.totals.precision import Changes

_HALVES = 10
"""Weights and distances of factors from 1 are 2^-(i / 2)."""
_TURNS = 2_000
"""Turns of the filter after which its errors hardly change any more."""


def suited(changes: Changes, correlation: float, noise: float) -> Buffers:
    """Return the buffers with which a filter errs least in the long run.

    One buffer mixes all earlier values of a series into each value. Noise for the same promise is
    larger by the norm of the mixture, but it falls where the series hardly moves, and that is what
    a filter keeps. `noise` is the variance of noise on unmixed values, relative to that of the
    series. Whatever is chosen, the promise holds: what neighbours differ by is computed for it.

    Candidates are a grid of fractions of 2^32; arithmetic is elementwise, so that every machine
    chooses the same. For one tick counted no mixture of any length is better by more than 1 %
    (`tests/operators/realtime/test_shaped_release.py`).

    Source: real-time release specification, section 6 (the filter); continual release
    specification, sections 2 and 3.
    """
    if changes.counted == changes.ticks:
        return UNMIXED
    slowest = 2 * (4 * changes.ticks).bit_length()
    weights = [isqrt(UNIT * UNIT >> half) for half in range(_HALVES)]
    factors = [UNIT - isqrt(UNIT * UNIT >> half) for half in range(1, slowest + 1)]
    tried = [UNMIXED, *(Buffers((w,), (f,)) for w in weights for f in factors)]
    weight = np.array([one.weights[0] for one in tried]) / UNIT
    factor = np.array([one.factors[0] for one in tried]) / UNIT
    norms = _norms(weight, factor, changes) / changes.counted
    errors = steady_errors(correlation, weight, factor, noise * norms)
    return tried[int(np.argmin(errors))]


def _norms(weight: Floats, factor: Floats, changes: Changes) -> Floats:
    """Return the squares of the largest norms of mixtures, as `totals.participation` does for one
    pair; in doubles, as nothing but accuracy depends on it."""
    power, gone, running, total = (np.zeros_like(weight) for _ in range(4))
    for tick in range(changes.ticks):
        power = weight.copy() if tick == 1 else power * factor
        running = running + (1.0 if tick == 0 else power)
        if tick == changes.counted:
            running = running - 1.0
        elif tick > changes.counted:
            gone = weight.copy() if tick == changes.counted + 1 else gone * factor
            running = running - gone
        total = total + running * running
    return total


def steady_errors(correlation: float, weight: Floats, factor: Floats, noise: Floats) -> Floats:
    """Return the squared error of the filter of mixed values in the long run, for a series of
    variance 1 and noise of these variances."""
    moves = 1.0 - correlation * correlation
    own, cross, other = np.ones_like(noise), np.zeros_like(noise), np.zeros_like(noise)
    left = own
    for _ in range(_TURNS):
        seen, held = own + weight * cross, cross + weight * other
        spread = seen + weight * held + noise
        left = own - seen * seen / spread
        left_cross, left_other = cross - seen * held / spread, other - held * held / spread
        own = correlation * correlation * left + moves
        cross = correlation * (factor * left_cross + left)
        other = factor * factor * left_other + 2.0 * factor * left_cross + left
    return left
