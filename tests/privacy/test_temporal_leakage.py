"""Temporal privacy leakage against the exact law of released responses: enough, and no more."""

import numpy as np
import pytest

from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.leakage.matrices import backward_rows, long_run_law
from fugu.operators.mechanism import Floats
from tests.privacy.chain_responses import joint_law, randomized_response, told_apart

TICKS = 4


def chain(rng: np.random.Generator, symbols: int) -> tuple[Floats, Floats, Floats]:
    forward = rng.dirichlet(np.full(symbols, rng.choice([0.3, 1.0])), symbols)
    start = long_run_law(forward)
    assert start is not None
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


ENTERED_FROM_ONE = np.array([[0.0, 0.08, 0.92], [0.02, 0.0, 0.98], [0.06, 0.0, 0.94]])
"""The second value is entered from the first one only: it tells for sure what came before."""


def test_no_more_is_told_where_only_the_forward_matrix_is_declared() -> None:
    rng = np.random.default_rng(7)
    chains = [ENTERED_FROM_ONE]
    for _ in range(6):
        rows = rng.dirichlet(np.full(3, 0.4), 3) * (rng.random((3, 3)) < 0.7) + 1e-3 * np.eye(3)
        chains.append(rows / rows.sum(axis=1, keepdims=True))
    checked = 0
    for rows in chains:
        start = long_run_law(rows)
        if start is None:
            continue
        checked += 1
        for epsilons in ([0.5] * TICKS, [1.5, 0.1, 1.0, 0.5]):
            joint = joint_law(rows, start, [randomized_response(3, e) for e in epsilons])
            claimed = TemporalCorrelation.of(rows).over(epsilons).total
            for tick in range(TICKS):
                assert told_apart(joint, [tick]) <= claimed[tick] + 1e-9
    assert checked >= 3


def test_where_a_value_is_left_for_good_every_beginning_is_covered() -> None:
    rows, epsilons = np.array([[0.8, 0.2], [0.0, 1.0]]), [0.5] * TICKS
    claimed = TemporalCorrelation.of(rows).over(epsilons).total
    for share in (0.999, 0.5, 1e-3, 1e-6):
        responses = [randomized_response(2, e) for e in epsilons]
        joint = joint_law(rows, np.array([share, 1.0 - share]), responses)
        for tick in range(TICKS):
            assert told_apart(joint, [tick]) <= claimed[tick] + 1e-9


def shown_and_claimed(rows: Floats, epsilons: list[float]) -> tuple[list[float], list[float]]:
    """About the value of every tick, of a chain of two values that looks the same both ways."""
    start = long_run_law(rows)
    assert start is not None
    joint = joint_law(rows, start, [randomized_response(2, e) for e in epsilons])
    shown = [told_apart(joint, [tick]) for tick in range(len(epsilons))]
    return shown, list(TemporalCorrelation.of(rows).over(epsilons).total)


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
