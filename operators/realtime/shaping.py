"""Choose how values are mixed before noise is added, for what a filter makes of them."""

from functools import lru_cache
from math import isqrt

import numpy as np

from fugu.operators.mechanism import Floats
from fugu.operators.realtime.belief import Belief
from fugu.operators.totals.buffers import UNIT, Buffers
from fugu.operators.totals.fitted import UNMIXED
from fugu.operators.totals.precision import Changes

_HALVES = 10
"""Weights and distances of factors from 1 are 2^-(i / 2)."""
_TURNS = 2_000
"""Ticks of the filter after which its errors hardly change any more."""


@lru_cache(maxsize=64)
def suited(changes: Changes, correlation: float, noise: float) -> Buffers:
    """Return the buffers with which a filter errs least on average over a period.

    One buffer mixes all earlier values of a series into each value. Noise for the same promise is
    larger by the norm of the mixture, but it falls where the series hardly moves, and that is what
    a filter keeps. `noise` is the variance of noise on unmixed values, relative to that of the
    series. Whatever is chosen, the promise holds: what neighbours differ by is computed for it.

    Candidates are a grid of fractions of 2^32; arithmetic is elementwise, so that every machine
    chooses the same. For one tick counted of a long period no mixture is better by more than 1 %
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
    errors = errors_of_a_period(correlation, weight, factor, noise * norms, changes.ticks)
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


def errors_of_a_period(
    correlation: float, weight: Floats, factor: Floats, noise: Floats, ticks: int
) -> Floats:
    """Return the squared error of the filter of mixed values, on average over a period of so many
    ticks, with which the buffer begins anew, for a series of variance 1 and noise of these
    variances.

    What is known of figures goes on; periods before it, of `_TURNS` ticks together, tell how much.
    """
    turns = min(ticks, _TURNS)
    belief, total, last = Belief.first(np.ones_like(noise)), np.zeros_like(noise), noise
    for period in range(-(-_TURNS // turns) + 1):
        belief, total = belief.emptied() if period else belief, np.zeros_like(noise)
        for _ in range(turns):
            known, _ = belief.measured(total, weight, noise)
            last = known.own
            total = total + last
            belief = known.gone_on(correlation, factor, 1.0)
    return (total + (ticks - turns) * last) / ticks
