"""Bars of predictions: how often they hold the truth, of series that wander and that go on and on.

200 runs of every series, which is measured first and then predicted for a while.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from fugu.operators.mechanism import Floats
from fugu.operators.realtime import filter as filtering
from tests.operators.realtime.series import TWO_SIDED, correlated

RUNS, TICKS = 200, 200
NOISE = (4.0, 126.0, 1500.0)
MEASURED = {"half": 100, "a tenth": 20, "all but ten": 190}


@cache
def series(seed: int) -> dict[str, Floats]:
    """Truths, `(ticks, runs)`."""
    rng, ticks = np.random.default_rng(seed), np.arange(TICKS)[:, None]
    return {
        "random walk": 100.0 + np.cumsum(rng.normal(0.0, 1.0, (TICKS, RUNS)), axis=0),
        "fast random walk": 100.0 + np.cumsum(rng.normal(0.0, 5.0, (TICKS, RUNS)), axis=0),
        "ramp": np.broadcast_to(100.0 + 0.25 * ticks, (TICKS, RUNS)),
        "steep ramp": np.broadcast_to(100.0 - 2.0 * ticks, (TICKS, RUNS)),
        "AR(1)": correlated(rng, RUNS, 0.8, 27.78, TICKS),
        "AR(1) + trend": correlated(rng, RUNS, 0.8, 27.78, TICKS) + 0.25 * ticks,
    }


@dataclass(frozen=True)
class Predicted:
    """Errors and standard errors of predictions, `(ticks, runs)`."""

    errors: Floats
    bars: Floats

    @property
    def held(self) -> float:
        """The share of truths within 1.96 standard errors."""
        return float((self.errors <= TWO_SIDED * self.bars).mean())


@cache
def predicted(name: str, variance: float, measured: int) -> Predicted:
    rng, noise = np.random.default_rng(2), np.array([[variance]])
    state, errors, bars = filtering.start(1, RUNS), [], []
    for tick, truth in enumerate(series(1)[name]):
        if tick < measured:
            noisy = truth + rng.normal(0.0, np.sqrt(variance), RUNS)
            state, _ = filtering.advance(state, noisy[None], noise)
        else:
            state, told = filtering.skip(state, noise)
            errors.append(np.abs(told.estimate[0] - truth))
            bars.append(told.error[0])
    return Predicted(np.array(errors), np.array(bars))


def hidden(name: str, variance: float) -> bool:
    """Tell whether noise is larger than what a trend makes of a series while it is measured."""
    return ("ramp" in name or "trend" in name) and variance == max(NOISE)


@pytest.mark.parametrize("measured", MEASURED.values(), ids=MEASURED)
@pytest.mark.parametrize("variance", NOISE)
@pytest.mark.parametrize("name", series(1))
def test_bars_of_predictions_hold_as_often_as_is_said(
    name: str, variance: float, measured: int
) -> None:
    """They held 3 to 90 percent of walks and ramps when they did not widen."""
    held = predicted(name, variance, measured).held
    assert held >= (0.77 if hidden(name, variance) else 0.9)


@pytest.mark.parametrize("variance", NOISE)
@pytest.mark.parametrize("name", ["random walk", "fast random walk", "AR(1)"])
def test_they_are_no_wider_than_is_useful(name: str, variance: float) -> None:
    """After as many predictions as measurements, at most five times the error there is."""
    run = predicted(name, variance, 100)
    assert run.bars.mean() < 5.0 * np.sqrt((run.errors**2).mean())


def test_bars_widen_with_every_tick_and_are_as_before_after_a_measurement() -> None:
    noise, rng = np.array([[4.0]]), np.random.default_rng(3)
    state = filtering.start(1, 1)
    for value in 100.0 + np.cumsum(rng.normal(0.0, 1.0, 50)):
        state, last = filtering.advance(state, np.array([[value]]), noise)
    bars, skipped = [float(last.error[0, 0])], state
    for _ in range(30):
        skipped, told = filtering.skip(skipped, noise)
        bars.append(float(told.error[0, 0]))
    assert bars == sorted(bars)
    assert bars[-1] > 2.0 * bars[1]
    again, told = filtering.advance(skipped, last.estimate, noise)
    assert told.error[0, 0] < bars[2]
    assert (again["steps_ahead"].tolist(), again["drift"].tolist()) == ([[0]], [[0.0]])


def test_the_forecast_is_that_of_a_plain_implementation() -> None:
    """E + h q + (d + h |b|)^2, with q, d and b from scratch."""
    noise, rng, ticks = 9.0, np.random.default_rng(4), 40
    noisy = 50.0 + 0.7 * np.arange(ticks) + rng.normal(0.0, 3.0, ticks)
    state = filtering.start(1, 1)
    for value in noisy:
        state, last = filtering.advance(state, np.array([[value]]), np.array([[noise]]))
    slope = np.polyfit(np.arange(ticks), noisy, 1)[0]
    mean, observed = noisy.mean(), noisy.var(ddof=1)
    true = observed - noise
    apart = noisy - mean
    correlation = (apart[1:] * apart[:-1]).sum() / (apart**2).sum() + 1.0 / ticks
    correlation = min(correlation * observed / true, 0.995)
    surprises = state["surprise"] / state["surprises"] - noise
    known, first = float(last.error[0, 0]) ** 2, float(last.estimate[0, 0])
    moves = max(true * (1.0 - correlation**2), float(surprises[0, 0]) - known)
    moves = min(moves, 27.0 * true / ticks)
    for ahead in range(1, 30):
        state, told = filtering.skip(state, np.array([[noise]]))
        value = mean + correlation**ahead * (first - mean)
        assert told.estimate[0, 0] == pytest.approx(value, rel=1e-9)
        straight = abs(value - first) + ahead * abs(slope)
        expected = np.sqrt(known + ahead * moves + straight**2)
        assert told.error[0, 0] >= expected * (1.0 - 1e-9)
        if ahead > 3:
            assert told.error[0, 0] == pytest.approx(expected, rel=1e-9)
