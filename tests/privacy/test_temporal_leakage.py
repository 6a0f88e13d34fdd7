"""Temporal privacy leakage against the exact law of released responses: enough, and no more."""

from itertools import pairwise, product

import numpy as np
import pytest

from operators.leakage.correlation import TemporalCorrelation
from operators.leakage.matrices import backward_rows, long_run_law
from operators.mechanism import Floats

TICKS = 4


def randomized_response(symbols: int, epsilon: float) -> Floats:
    law: Floats = np.exp(epsilon * np.eye(symbols))
    return np.asarray(law / law.sum(axis=1, keepdims=True))


def joint_law(forward: Floats, start: Floats, responses: list[Floats]) -> Floats:
    """P(responses and values) for all responses (first axis) and values (an axis for each tick)."""
    symbols = len(start)
    outcomes = list(product(range(symbols), repeat=len(responses)))
    joint = np.zeros((len(outcomes), *[symbols] * len(responses)))
    for path in product(range(symbols), repeat=len(responses)):
        probability = start[path[0]]
        for now, following in pairwise(path):
            probability *= forward[now, following]
        for number, outcome in enumerate(outcomes):
            told = [
                law[value, out] for law, value, out in zip(responses, path, outcome, strict=True)
            ]
            joint[(number, *path)] = probability * np.prod(told)
    return joint


def told_apart(joint: Floats, ticks: list[int]) -> float:
    """The largest ln P(responses | values at `ticks`) - ln P(responses | other values there)."""
    others = tuple(axis for axis in range(1, joint.ndim) if axis - 1 not in ticks)
    together = joint.sum(axis=others).reshape(len(joint), -1)
    possible = together.sum(axis=0) > 0.0
    given = np.log(together[:, possible] / together[:, possible].sum(axis=0))
    return float((given.max(axis=1) - given.min(axis=1)).max())


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
