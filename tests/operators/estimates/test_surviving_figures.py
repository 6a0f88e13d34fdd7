"""Figures that passed a noisy test err less than their noise and the moves since would have it."""

import numpy as np
import pytest

from fugu.operators.estimates.random_walks import RandomWalk
from fugu.operators.estimates.surviving_figures import surviving
from fugu.operators.mechanism import Inputs, Kind
from fugu.operators.randomness import DrawScope, record_positions
from fugu.operators.secret import Secret
from fugu.operators.wevent.budget_absorption import BudgetAbsorption
from fugu.operators.wevent.budget_distribution import BudgetDistribution
from fugu.operators.wevent.pba import PrivacyBudgetAllocation
from fugu.operators.wevent.strategy import Strategy

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
