"""Beliefs to test with: seeded random ones of every shape, and those of the specification."""

from collections.abc import Iterator

import numpy as np

from fugu.operators.mechanism import Floats


def random_beliefs(rng: np.random.Generator, symbols: int, rows: int) -> Floats:
    """`(symbols, rows)`: from flat to concentrated; a third of the rows has zeros."""
    concentration = 10.0 ** rng.uniform(-1.5, 1.5, rows)
    gammas = np.maximum(rng.gamma(np.tile(concentration, (symbols, 1))), 1e-300)
    erased = (rng.random((symbols, rows)) < 0.5) & (rng.random(rows) < 1 / 3)
    erased[rng.integers(symbols, size=rows), np.arange(rows)] = False
    gammas[erased] = 0.0
    return np.asarray(gammas / gammas.sum(axis=0))


def many_random_beliefs() -> Iterator[tuple[float, Floats]]:
    """(epsilon, beliefs) with 10,080 beliefs in all: n = 1..12, epsilon in [0.001, 15]."""
    rng = np.random.default_rng(2024)
    for symbols in range(1, 13):
        for epsilon in [1e-3, 15.0, *np.exp(rng.uniform(np.log(1e-3), np.log(15.0), 40))]:
            yield float(epsilon), random_beliefs(rng, symbols, 20)


def uniform(symbols: int) -> Floats:
    return np.full(symbols, 1.0 / symbols)


def zipf(symbols: int) -> Floats:
    """Probabilities proportional to 1/rank."""
    weights = 1.0 / np.arange(1, symbols + 1)
    return np.asarray(weights / weights.sum())
