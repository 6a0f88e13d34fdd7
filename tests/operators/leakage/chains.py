"""Matrices to compute leakage with: those of the specification, and random ones with zeros."""

import numpy as np

from fugu.operators.mechanism import Floats

IDENTITY = [[1.0, 0.0], [0.0, 1.0]]
A = [[0.8, 0.2], [0.0, 1.0]]
B = [[0.7, 0.3], [0.4, 0.6]]
C = [[0.6, 0.4], [0.1, 0.9]]
D = [[0.9, 0.1], [0.1, 0.9]]
UNIFORM = [[0.5, 0.5], [0.5, 0.5]]


def with_zeros(rng: np.random.Generator, size: int) -> Floats:
    """About a third of the entries are 0, and no row is."""
    weights = rng.exponential(size=(size, size)) * (rng.random((size, size)) > 0.35)
    weights[np.arange(size), rng.integers(size, size=size)] += 0.1
    rows: Floats = weights / weights.sum(axis=1, keepdims=True)
    return rows


def positive(rng: np.random.Generator, size: int) -> Floats:
    return rng.dirichlet(np.full(size, rng.choice([0.5, 1.0, 5.0])), size)
