"""The local model is real-time release of one bin, clamped, with the range as the sensitivity."""

import numpy as np
import pytest

from fugu.operators.mechanism import Array, Floats, Inputs, Integers, Releases
from fugu.operators.randomness import DrawScope, Secret, tick_position
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.realtime.real_time_release import RealTimeRelease

NUMBERS = np.random.default_rng(1).integers(-100, 1200, (30, 3))
LOCAL = LocalRealTimeRelease(0, 1000, epsilon=8.0, delta=1e-6, horizon=20, units_per_one=10)
SERIES = RealTimeRelease(1, 1000, 1, epsilon=8.0, delta=1e-6, horizon=20)


def run(mechanism: LocalRealTimeRelease | RealTimeRelease, numbers: Array) -> list[Releases]:
    """Every tick of `numbers (ticks, rows, ...)`, and a prediction."""
    scope = DrawScope(Secret(bytes(32)), "test", "real", 1, bytes(32))
    keys = [b"%d" % row for row in range(numbers.shape[1])]
    state, told = mechanism.start(len(keys)), []
    for tick, values in enumerate(numbers):
        draws = scope.draws(keys, [tick_position("t", tick)] * len(keys))
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
    assert promise.neighbours.change == "replaced"
    assert "in which ticks a stream has a value" in str(promise.not_covered[0])
    period = LocalRealTimeRelease(0, 1000, epsilon=8.0, delta=1e-6, period=20)
    [promise] = period.guarantees()
    assert (promise.notion, promise.per, promise.window) == ("w-event-ldp", "window", 20)
    assert "unbounded under sequential composition" in str(promise.not_covered[0])


def test_numbers_that_are_not_counted_in_units_are_refused() -> None:
    with pytest.raises(ValueError, match="integers that count units"):
        run(LOCAL, NUMBERS / 2.0)


def heart_rates(users: int, ticks: int) -> Integers:
    """40 to 180: a wave that all have in common, levels of their own, and what comes and goes."""
    random = np.random.default_rng(3)
    wave = 90 + 20 * np.sin(np.arange(ticks) / ticks * 2 * np.pi)
    levels = random.normal(0, 12, (users, 1))
    drift = random.normal(0, 8, (users, ticks))
    for tick in range(1, ticks):
        drift[:, tick] = 0.95 * drift[:, tick - 1] + 0.31 * drift[:, tick]
    return np.clip(np.rint(wave + levels + drift), 40, 180).astype(np.int64)


def test_only_without_a_filter_errors_of_users_are_independent() -> None:
    """The figures of docs/realtime.md."""
    truth = heart_rates(users := 1000, ticks := 100)
    found = {}
    for name, weight in (("baseline", 1.0), ("adaptive", None)):
        mechanism = LocalRealTimeRelease(40, 180, 20.0, 1e-6, horizon=ticks, weight=weight)
        told = run(mechanism, truth.T)[:ticks]
        errors = np.array([releases.values for releases in told]).T - truth.astype(np.float64)
        bars = np.array([releases.annotations["standard_error"] for releases in told]).T
        found[name] = (
            rms(errors),
            float((np.abs(errors) <= 1.96 * bars).mean()),
            rms(errors.mean(axis=0)),
            rms(bars) / np.sqrt(users),
            rms(errors.mean(axis=1)),
        )
    assert found["baseline"] == pytest.approx((434, 0.950, 13.0, 13.7, 43.6), rel=0.01)
    assert found["adaptive"] == pytest.approx((123.5, 0.997, 11.4, 6.5, 58.3), rel=0.01)


def rms(errors: Floats) -> float:
    return float(np.sqrt((errors**2).mean()))
