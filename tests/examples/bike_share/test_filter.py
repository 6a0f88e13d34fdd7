"""Measure what the filter makes of correlated hours, under small and larger budgets."""

from math import pi, sqrt

import numpy as np
import pytest

from examples.bike_share.example import RIDERS
from examples.bike_share.riders import Riders
from fugu.operators.mechanism import Inputs
from fugu.operators.randomness import DrawScope, Secret, tick_position
from fugu.operators.realtime.real_time_release import RealTimeRelease


@pytest.mark.parametrize(("epsilon", "kept"), [(3.0, 0.93), (0.5, 0.53)])
def test_the_filter_gains_most_where_noise_is_large(epsilon: float, kept: float) -> None:
    """On average over twenty secrets, of which one alone errs by 10 percent more or less."""
    counts = Riders(RIDERS).counts()[:312]
    release = RealTimeRelease(
        bins=counts.shape[1],
        sensitivity=1,
        changed_bins=2,
        epsilon=epsilon,
        delta=1e-6,
        horizon=len(counts),
    )
    runs = 20
    state = release.start(runs)
    scope = DrawScope(Secret(bytes(32)), "bikes", "release", 1, release.law_digest())
    errors = []
    for tick, truth in enumerate(counts):
        keys = [b"bikes %d" % run for run in range(runs)]
        draws = scope.draws(keys, [tick_position("bikes", tick)] * runs)
        state, releases = release.step(state, Inputs(np.tile(truth, (runs, 1))), draws)
        errors.append(np.abs(releases.values - truth).mean())
    noise = release.noise_deviation * sqrt(2.0 / pi)
    assert float(np.mean(errors)) == pytest.approx(kept * noise, rel=0.06)
