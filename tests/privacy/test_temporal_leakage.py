"""Temporal privacy leakage against the exact law of released responses: enough, and no more."""

import numpy as np
import pytest

from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.leakage.inversion import epsilons_for, largest_epsilon
from fugu.operators.mechanism import Floats
from tests.operators.leakage.chains import backward_rows, long_run_law
from tests.privacy.chain_responses import (
    from_starts,
    joint_law,
    most_told,
    randomized_response,
    told_apart,
)

TICKS = 4


def chain(rng: np.random.Generator, symbols: int) -> tuple[Floats, Floats, Floats]:
    forward = rng.dirichlet(np.full(symbols, rng.choice([0.3, 1.0])), symbols)
    start = long_run_law(forward)
    return forward, backward_rows(forward, start), start


@pytest.mark.parametrize("symbols", [2, 3])
def test_nothing_that_is_released_tells_more(symbols: int) -> None:
    rng = np.random.default_rng(symbols)
    for _ in range(6):
        forward, backward, start = chain(rng, symbols)
        epsilons = rng.choice([0.1, 0.5, 1.5], size=TICKS).tolist()
        joint = joint_law(forward, start, [randomized_response(symbols, e) for e in epsilons])
        correlation = TemporalCorrelation.of(forward, backward)
        for window in range(1, TICKS + 1):
            for first, claimed in enumerate(correlation.windows(epsilons, window)):
                ticks = list(range(first, first + window))
                assert told_apart(joint, ticks) <= claimed + 1e-12


LEAVING = np.array([[0.99, 0.01], [0.7, 0.3]])
"""In its long run it looks the same both ways; from another beginning it does not."""
ENTERED_FROM_ONE = np.array([[0.0, 0.08, 0.92], [0.02, 0.0, 0.98], [0.06, 0.0, 0.94]])
"""The second value is entered from the first one only: it tells for sure what came before."""


def test_wherever_a_person_began_no_more_is_told_than_is_claimed() -> None:
    rng = np.random.default_rng(7)
    chains = [LEAVING, np.array([[0.8, 0.2], [0.0, 1.0]]), np.array([[0.0, 1.0], [0.5, 0.5]])]
    chains += [rng.dirichlet(np.full(2, 0.4), 2) for _ in range(4)]
    for rows in chains:
        for epsilons in ([0.5] * TICKS, [1.5, 0.1, 1.0, 0.5]):
            claimed = TemporalCorrelation.of(rows).over(epsilons).total
            for tick, told in enumerate(most_told(rows, epsilons)):
                assert told <= claimed[tick] + 1e-9


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_same_of_three_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = ENTERED_FROM_ONE if seed == 0 else rng.dirichlet(np.full(3, 0.4), 3)
    epsilons = [1.5, 0.1, 1.0]
    claimed = TemporalCorrelation.of(rows).over(epsilons).total
    for tick, told in enumerate(most_told(rows, epsilons)):
        assert told <= claimed[tick] + 1e-9


def test_a_limit_holds_wherever_a_person_began() -> None:
    """Budgets for readers of a chain in its long run would leak 1.33 nats in six ticks."""
    correlation = TemporalCorrelation.of(LEAVING)
    endless = [largest_epsilon(correlation, 1.0)] * 6
    assert max(most_told(LEAVING, endless)) <= 1.0
    assert max(most_told(LEAVING, list(epsilons_for(correlation, 1.0, 6)))) <= 1.0
    too_much = [largest_epsilon(TemporalCorrelation.of(LEAVING, LEAVING), 1.0)] * 6
    even = joint_law(LEAVING, np.array([0.5, 0.5]), [randomized_response(2, e) for e in too_much])
    assert max(told_apart(even, [tick]) for tick in range(6)) == pytest.approx(1.3296, abs=5e-4)


def test_of_two_ticks_some_start_attains_it() -> None:
    rng = np.random.default_rng(12)
    for _ in range(10):
        rows, epsilons = rng.dirichlet(np.ones(2), 2), rng.exponential(size=2).tolist()
        claimed = TemporalCorrelation.of(rows).over(epsilons).backward[1]
        shares = 1.0 / (1.0 + np.exp(np.linspace(-12.0, 12.0, 2001)))
        laws = [np.array([share, 1.0 - share]) for share in shares]
        told = max(told_apart(joint, [1]) for joint in from_starts(rows, epsilons, laws))
        assert told == pytest.approx(claimed, abs=1e-5)


def shown_and_claimed(rows: Floats, epsilons: list[float]) -> tuple[list[float], list[float]]:
    """About the value of every tick, of a chain of two values that looks the same both ways."""
    joint = joint_law(rows, long_run_law(rows), [randomized_response(2, e) for e in epsilons])
    shown = [told_apart(joint, [tick]) for tick in range(len(epsilons))]
    return shown, list(TemporalCorrelation.of(rows, rows).over(epsilons).total)


@pytest.mark.parametrize("stays", [0.5, 0.6, 0.9, 0.99, 0.2])
def test_where_two_values_are_alike_nothing_less_would_do(stays: float) -> None:
    rows = np.array([[stays, 1.0 - stays], [1.0 - stays, stays]])
    shown, claimed = shown_and_claimed(rows, [0.5, 0.1, 1.5, 0.3, 1.0])
    assert shown == pytest.approx(claimed, abs=1e-9)


def test_about_two_ticks_of_any_two_values_nothing_less_would_do() -> None:
    rng = np.random.default_rng(11)
    for _ in range(20):
        rows = rng.dirichlet(np.ones(2), 2)
        shown, claimed = shown_and_claimed(rows, rng.exponential(size=2).tolist())
        assert shown == pytest.approx(claimed, abs=1e-9)
