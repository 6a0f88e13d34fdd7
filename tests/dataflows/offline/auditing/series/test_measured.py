"""Noisy values that readers get back from filtered ones."""

from typing import Any

import numpy as np
import pytest

from fugu.dataflows.offline.auditing.series.measured import Measured, steps_of
from fugu.operators.mechanism import Draws, Floats, Inputs, Integers
from fugu.operators.randomness import DrawScope, Secret, tick_position
from fugu.operators.realtime import real_time_release
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.realtime.measurement import Measurement

SCOPE = DrawScope(Secret(bytes(32)), "audit", "real_time_local", 1, bytes(32))
STREAMS = 50
WAYS: list[dict[str, Any]] = [
    {"horizon": 12},
    {"horizon": 12, "weight": 1.0},
    {"horizon": 12, "weight": 0.3},
    {"horizon": 12, "shares": (1.0, 4.0)},
    {"period": 5},
    {"decay": 0.8},
    {"decay": 0.8, "weight": 0.5},
]


class Recording(Measurement):
    """Keep what was measured."""

    kept: list[Floats]

    def noisy(self, values: Integers, steps: Integers, draws: Draws) -> Floats:
        self.kept.append(super().noisy(values, steps, draws)[:, 0])
        return self.kept[-1][:, None]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_noisy_values_are_got_back_from_filtered_ones(
    way: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_time_release, "Measurement", Recording)
    Recording.kept = []
    release = LocalRealTimeRelease(
        lower=0, upper=10, epsilon=20.0, delta=1e-6, units_per_one=10, **way
    )
    state, values, measured, kept = release.start(STREAMS), [], [], []
    for tick, number in enumerate([1, 2, 1, 3, None, 2, 9, 9, 8, None, None, 7, 0, 0, 1]):
        if number is None:
            state, told = release.skip(state)
            kept.append(np.full(STREAMS, np.nan))
        else:
            names = [b"%d" % stream for stream in range(STREAMS)]
            draws = SCOPE.draws(names, [tick_position("raw", tick)] * STREAMS)
            state, told = release.step(state, Inputs(np.full(STREAMS, number)), draws)
            kept.append(Recording.kept[-1])
        values.append(np.round(told.values, 5))
        measured.append(int(told.annotations["published"][0]))
        if not measured[-1]:
            kept[-1] = np.full(STREAMS, np.nan)
    found = Measured.of(release, np.stack(values, axis=1), np.array(measured))
    off = (found.noisy - np.stack(kept, axis=1)) * found.steps / release.series.schedule.first
    wrong = np.abs(off) > 0.05 * release.series.noise_deviation
    assert (np.isnan(off[:, 2:]).mean(axis=0) < 0.5).tolist() == [bool(one) for one in measured[2:]]
    assert np.isfinite(off[:, :2]).all()
    assert wrong[:, :4].mean() == 0.0
    assert wrong.mean() < 0.02


def test_evidence_weighs_values_by_their_precision() -> None:
    noisy = np.array([[1.0, 2.0, np.nan]])
    assert Measured(noisy, np.array([3, 1, 0])).evidence(1.0).tolist() == [1.0]


def test_steps_are_those_of_the_values_that_were_measured_before() -> None:
    shared = LocalRealTimeRelease(
        lower=0, upper=10, epsilon=5.0, delta=1e-6, horizon=4, shares=(1.0, 4.0)
    )
    one, other = shared.series.schedule.table[:2].tolist()
    assert steps_of(shared, np.array([1, 0, 1, 1])).tolist() == [one, 0, other, one]
