"""Matrices to compute leakage with: those of the specification, random ones with zeros, and the
same read backwards in time."""

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


def long_run_law(forward: Floats) -> Floats:
    """How often each value occurs in the long run, of a chain that reaches all of them."""
    size = len(forward)
    equations = np.vstack([forward.T - np.eye(size), np.ones(size)])
    law: Floats = np.linalg.lstsq(equations, np.eye(size + 1)[size], rcond=None)[0]
    return law


def backward_rows(forward: Floats, law: Floats) -> Floats:
    """P(previous | now), where `law` is that of the previous value."""
    joint = (np.asarray(law)[:, None] * np.asarray(forward)).T
    turned: Floats = joint / joint.sum(axis=1, keepdims=True)
    return turned
