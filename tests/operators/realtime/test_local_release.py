"""The local model is real-time release of one bin, clamped, with the range as the sensitivity."""

import numpy as np
import pytest

from operators.mechanism import Inputs, Releases
from operators.randomness import DrawScope, Secret, tick_position
from operators.realtime.local_release import LocalRealTimeRelease
from operators.realtime.real_time_release import RealTimeRelease

NUMBERS = np.random.default_rng(1).integers(-100, 1200, (30, 3))
LOCAL = LocalRealTimeRelease(0, 1000, epsilon=8.0, delta=1e-6, horizon=20, units_per_one=10)
SERIES = RealTimeRelease(1, 1000, 1, epsilon=8.0, delta=1e-6, horizon=20)


def run(mechanism: LocalRealTimeRelease | RealTimeRelease, numbers: object) -> list[Releases]:
    scope = DrawScope(Secret(bytes(32)), "test", "real", 1, bytes(32))
    state, told = mechanism.start(3), []
    for tick, values in enumerate(np.asarray(numbers)):
        draws = scope.draws([b"a", b"b", b"c"], [tick_position("t", tick)] * 3)
        state, releases = mechanism.step(state, Inputs(values), draws)
        told.append(releases)
    state, predicted = mechanism.skip(state)
    return [*told, predicted]


def test_it_says_in_ones_what_the_series_says_in_units() -> None:
    clamped = np.clip(NUMBERS, 0, 1000)
    for local, series in zip(run(LOCAL, NUMBERS), run(SERIES, clamped[:, :, None]), strict=True):
        assert local.values.tolist() == (series.values[:, 0] / 10).tolist()
        errors, wide = local.annotations["standard_error"], series.annotations["standard_error"]
        assert errors.tolist() == (wide[:, 0] / 10).tolist()
        for name in ("published", "spent_rho", "remaining_rho", "budget_exhausted"):
            assert local.annotations[name].tolist() == series.annotations[name].tolist()


def test_the_promise_covers_numbers_and_not_whether_there_is_one() -> None:
    [promise] = LOCAL.guarantees()
    assert (promise.notion, promise.per, promise.window) == ("ldp", "stream", None)
    assert "by none" not in promise.protects
    assert "in which ticks a stream has a value" in promise.not_covered[0]
    period = LocalRealTimeRelease(0, 1000, epsilon=8.0, delta=1e-6, period=20)
    [promise] = period.guarantees()
    assert (promise.notion, promise.per, promise.window) == ("w-event-ldp", "window", 20)
    assert "add up without end" in promise.not_covered[0]


def test_numbers_that_are_not_counted_in_units_are_refused() -> None:
    with pytest.raises(ValueError, match="integers that count units"):
        run(LOCAL, NUMBERS / 2.0)
