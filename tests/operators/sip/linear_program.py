"""The least expected distance of any private release law: section 3.4 as a linear program."""

from math import exp

import numpy as np
from scipy.optimize import linprog

from fugu.operators.mechanism import Floats


def least_error(belief: Floats, epsilon: float) -> float:
    """With 0/1 distance."""
    return least_cost(belief, epsilon, 1.0 - np.eye(len(belief)))


def least_cost(belief: Floats, epsilon: float, table: Floats) -> float:
    """Variables a[x, y], row by row, then q[y]."""
    n = len(belief)
    identity, ones = np.eye(n), np.ones(n)
    to_a, to_q = np.eye(n * n), np.kron(np.ones((n, 1)), identity)
    marginal = np.hstack([np.kron(belief, identity), -identity])
    rows = np.hstack([np.kron(identity, ones), np.zeros((n, n))])
    above = np.hstack([to_a, -exp(epsilon) * to_q])
    below = np.hstack([-to_a, exp(-epsilon) * to_q])
    solved = linprog(
        np.concatenate([(belief[:, None] * table).ravel(), np.zeros(n)]),
        A_ub=np.vstack([above, below]),
        b_ub=np.zeros(2 * n * n),
        A_eq=np.vstack([marginal, rows]),
        b_eq=np.concatenate([np.zeros(n), ones]),
        bounds=(0, None),
        method="highs",
    )
    assert solved.status == 0
    return float(solved.fun)
