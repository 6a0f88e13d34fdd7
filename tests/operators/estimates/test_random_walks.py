"""Compare what noisy figures say of a walk beneath them with walks of known drift."""

import numpy as np
import pytest

from fugu.operators.estimates.random_walks import RandomWalk, laplace_quantile, sum_of, surviving
from fugu.operators.mechanism import Inputs, Kind
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.wevent.pba import PrivacyBudgetAllocation
from fugu.operators.wevent.spread_strategies import BudgetAbsorption, BudgetDistribution
from fugu.operators.wevent.strategy import Strategy


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


# Figures that passed a noisy test err less than their noise and the moves since would have it.


TICKS, GROUPS, RUNS = 40, 2, 5
STRATEGIES = (BudgetDistribution, BudgetAbsorption, PrivacyBudgetAllocation)


def released(strategy: Strategy, truth: np.ndarray, seed: int) -> tuple[np.ndarray, ...]:
    """Published, values and standard errors of every tick, and what was offered to it."""
    scope = DrawScope(Secret(bytes(32)).derive(seed), "test", strategy.kind, 1, bytes(32))
    state, ticks = strategy.start(1), []
    for tick in range(TICKS):
        draws = scope.draws([b"all"], record_positions("source", 0, [tick]))
        state, one = strategy.step(state, Inputs(truth[None, tick]), draws)
        assert one.kinds is not None
        spent = one.annotations["publication_epsilon"][0]
        fresh = one.kinds[0] == Kind.FRESH
        ticks.append((fresh, one.values[0], one.annotations["standard_error"][0], spent))
    return tuple(np.array(column) for column in zip(*ticks, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("kind", STRATEGIES)
def test_bars_hold_repeated_figures_and_are_shorter_than_noise_and_moves(
    kind: type[Strategy],
) -> None:
    strategy, rng = kind(GROUPS, 8, 1.0, 1), np.random.default_rng(3)
    held, margins, plain = [], [], []
    for run in range(RUNS):
        truth = 1_000 + np.cumsum(rng.integers(-4, 5, (TICKS, GROUPS)), axis=0)
        fresh, values, errors, _ = released(strategy, truth, run)
        measured = np.flatnonzero(fresh)
        walks = [
            RandomWalk.through(values[measured, group].astype(float), errors[measured], measured)
            for group in range(GROUPS)
        ]
        every = np.ones(TICKS, dtype=bool)
        bars = surviving(strategy, fresh, values.astype(float), errors, walks, every, 0.95)
        repeated = ~fresh & (np.arange(TICKS) > measured[0])
        inside = np.abs(values - truth)[repeated] <= bars.margins[repeated]
        held.append(inside.mean())
        margins.append(bars.margins[repeated].mean())
        plain.append(2.118 * errors[repeated].mean())
    assert 0.85 <= np.mean(held) <= 0.995
    assert np.mean(margins) < np.mean(plain)


@pytest.mark.parametrize("kind", STRATEGIES)
def test_a_reader_knows_what_every_tick_was_offered(kind: type[Strategy]) -> None:
    strategy, rng = kind(GROUPS, 8, 1.0, 1), np.random.default_rng(4)
    truth = 1_000 + np.cumsum(rng.integers(-40, 41, (TICKS, GROUPS)), axis=0)
    fresh, values, _, spent = released(strategy, truth, 1)
    state = strategy.start(1)
    for tick in range(TICKS):
        offer = strategy.offer(state)
        if fresh[tick]:
            assert offer.publication[0] / 2.0**40 == pytest.approx(spent[tick])
        shown = values[tick : tick + 1] if fresh[tick] else values[:0]
        state = strategy.after(state, offer, fresh[tick : tick + 1], shown)
    assert 2 < fresh.sum() < TICKS


# Bars of repeated figures and of sums, against walks of known drift.


def test_the_error_of_a_sum_is_that_of_simulated_walks() -> None:
    rng, runs, drift = np.random.default_rng(2), 20_000, 4.0
    ages = np.array([2, 3, 0, 1, 2, 0])
    errors = np.array([3.0, 3.0, 1.0, 1.0, 1.0, 2.0])
    walk = np.cumsum(rng.normal(0.0, 2.0, (runs, 9)), axis=1)
    ticks = np.arange(3, 9)
    measured = ticks - ages
    pairs = zip(measured, errors, strict=True)
    noise = {tick: rng.normal(size=runs) * error for tick, error in pairs}
    shown = np.stack([walk[:, tick] + noise[tick] for tick in measured], axis=1)
    off = shown.sum(axis=1) - walk[:, ticks].sum(axis=1)
    variance, moved, alike = sum_of(errors, ages)
    assert np.sqrt(variance + drift * moved) == pytest.approx(off.std(), rel=0.03)
    assert 1.0 <= alike <= 3.0


def test_quantiles_hold_sums_of_laplace_noise() -> None:
    rng = np.random.default_rng(3)
    for count in (1, 3, 10):
        sums = rng.laplace(size=(200_000, count)).sum(axis=1) / np.sqrt(2.0 * count)
        held = np.mean(np.abs(sums) <= laplace_quantile(0.95, count))
        assert held == pytest.approx(0.95, abs=0.004)
