"""Compare what noisy figures say of a walk beneath them with walks of known drift."""

import numpy as np
import pytest

from fugu.operators.estimates.aged_figures import laplace_quantile
from fugu.operators.estimates.random_walks import RandomWalk


def drift_of(walk: RandomWalk) -> float:
    """The drift of a tick, as a bar of one tick and no noise has it."""
    [error] = walk.aged_errors(np.zeros(1), np.ones(1), confidence=0.95).tolist()
    return float(error**2)


def test_the_drift_of_a_walk_is_found_beneath_its_noise() -> None:
    rng = np.random.default_rng(1)
    truth = np.cumsum(rng.normal(0.0, 2.0, 4_000))
    ticks = np.arange(0, 4_000, 3)
    errors = np.where(np.arange(len(ticks)) % 5 == 0, 20.0, 3.0)
    values = truth[ticks] + rng.normal(size=len(ticks)) * errors
    assert drift_of(RandomWalk.through(values, errors, ticks)) == pytest.approx(4.0, rel=0.2)
    still = rng.normal(size=500) * 3.0
    assert drift_of(RandomWalk.through(still, np.full(500, 3.0), np.arange(500))) < 0.05
    assert drift_of(RandomWalk.through(still[:1], np.ones(1), np.zeros(1, dtype=np.int64))) == 0.0


@pytest.mark.parametrize("drift", [0.0, 0.05, 1.0])
def test_smoothed_levels_err_as_much_as_they_say(drift: float) -> None:
    """Also where noise hides the walk, and the likeliest drift would be none."""
    rng, noise, ticks = np.random.default_rng(2), 2.0, 40
    off, said = [], []
    for _ in range(40):
        truth = np.cumsum(rng.normal(0.0, np.sqrt(drift), ticks))
        values = truth + rng.normal(0.0, noise, ticks)
        walk = RandomWalk.through(values, np.full(ticks, noise), np.arange(ticks))
        levels, errors = walk.smoothed(ticks)
        off.append(levels - truth)
        said.append(errors)
    shares = np.abs(off) <= 1.96 * np.array(said)
    assert 0.9 <= shares.mean() <= 1.0
    assert np.std(off) < 0.9 * noise


def test_a_tick_between_two_measurements_knows_less() -> None:
    values, ticks = np.array([0.0, 9.0, 2.0, 8.0]), np.array([0, 4, 8, 12])
    _, errors = RandomWalk.through(values, np.ones(4), ticks).smoothed(13)
    assert errors[2] > errors[0]
    assert errors[2] > errors[4]


def test_errors_widen_with_age_as_much_as_the_drift_that_is_known() -> None:
    still = np.zeros(1)
    walk = RandomWalk(still, still, still.astype(np.int64), np.array([5.0]), np.ones(1))
    widened = walk.aged_errors(np.full(3, 4.0), np.array([0.0, 1.0, 12.0]), confidence=0.95)
    assert widened == pytest.approx([2.0, 3.0, 8.0])


@pytest.mark.parametrize("step", [0.1, 1.0])
def test_bars_of_repeated_figures_hold_where_measurements_hardly_tell_the_drift(
    step: float,
) -> None:
    """Six measurements with an error of 1, each repeated seven times."""
    rng, held = np.random.default_rng(8), []
    ticks, ages = np.arange(0, 48, 8), np.tile(np.arange(8.0), 6)
    for _ in range(150):
        truth = np.cumsum(rng.normal(0.0, step, 48))
        values = truth[ticks] + rng.laplace(0.0, np.sqrt(0.5), 6)
        walk = RandomWalk.through(values, np.ones(6), ticks)
        margins = laplace_quantile(0.95) * walk.aged_errors(np.ones(48), ages, confidence=0.95)
        held.append(np.mean(np.abs(np.repeat(values, 8) - truth) <= margins))
    assert 0.94 <= np.mean(held) <= 0.985
