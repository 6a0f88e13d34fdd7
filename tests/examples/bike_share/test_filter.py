"""How much the filter makes of correlated hours, under small budgets and larger ones."""

from math import pi, sqrt

import numpy as np
import pytest

from examples.bike_share.example import RIDERS
from examples.bike_share.riders import Riders
from operators.mechanism import Inputs
from operators.randomness import DrawScope, tick_position
from operators.realtime.real_time_release import RealTimeRelease
from operators.secret import Secret


@pytest.mark.parametrize(("epsilon", "kept"), [(3.0, 0.92), (0.5, 0.49)])
def test_the_filter_gains_most_where_noise_is_large(epsilon: float, kept: float) -> None:
    counts = Riders(RIDERS).counts()[:312]
    release = RealTimeRelease(
        bins=counts.shape[1],
        sensitivity=1,
        changed_bins=2,
        epsilon=epsilon,
        delta=1e-6,
        horizon=len(counts),
    )
    state = release.start(1)
    scope = DrawScope(Secret(bytes(32)), "bikes", "release", 1, release.law_digest())
    errors = []
    for tick, truth in enumerate(counts):
        draws = scope.draws([b"bikes"], [tick_position("bikes", tick)])
        state, releases = release.step(state, Inputs(truth[None]), draws)
        errors.append(np.abs(releases.values[0] - truth).mean())
    noise = release.noise_deviation * sqrt(2.0 / pi)
    assert float(np.mean(errors)) == pytest.approx(kept * noise, rel=0.06)
