"""Checked transition matrices, and the same chain read backwards in time."""

from collections.abc import Sequence
from math import fsum, isfinite

import numpy as np
from numpy.typing import NDArray

from fugu.operators.mechanism import Floats

SUM_TOLERANCE = 1e-9
_SMALLEST = 1e-290
"""Doubles below lose digits."""

Matrix = Sequence[Sequence[float]] | Floats


def transition_matrix(rows: Matrix, name: str = "matrix") -> Floats:
    """Check a square matrix whose rows are distributions; `ValueError` names row and column.

    A forward matrix has P(next = j | now = i) in row i and column j, a backward one
    P(previous = j | now = i).
    """
    size = len(rows)
    if size == 0:
        raise ValueError(f"{name}: needs at least one row")
    for number, row in enumerate(rows):
        if len(row) != size:
            raise ValueError(
                f"{name} row {number}: has {len(row)} columns, but there are {size} rows; "
                "write a square matrix, one row and one column for each value"
            )
    return distributions(rows, name)


def distributions(rows: Matrix, name: str = "matrix") -> Floats:
    """Make rows that sum to 1 within 1e-9 sum to 1; `ValueError` names the row and column."""
    checked = [_distribution(f"{name} row {number}", row) for number, row in enumerate(rows)]
    matrix = np.array(checked)
    matrix.setflags(write=False)
    return matrix


def _distribution(name: str, row: Sequence[float] | Floats) -> Floats:
    values = [float(value) for value in row]
    for column, value in enumerate(values):
        if not isfinite(value):
            raise ValueError(f"{name}, column {column}: must be a finite number")
        if value < 0.0:
            raise ValueError(f"{name}, column {column}: a probability must not be negative")
    total = fsum(values)
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise ValueError(f"{name}: must sum to 1 within {SUM_TOLERANCE:g}, not to {total:.12g}")
    return np.array(values) / total


def backward_rows(forward: Matrix, law: Sequence[float] | Floats) -> Floats:
    """Return P(previous | now), where `law` is that of the previous value.

    There is a row for each value that can be now, and a column for each that can have been before.

    >>> forward = transition_matrix([[0.9, 0.1, 0.0], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
    >>> backward_rows(forward, long_run_law(forward)).round(4).tolist()
    [[0.9, 0.0, 0.1], [0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]

    Source: budget allocation specification, sections 1 and 5.
    """
    matrix = transition_matrix(forward)
    if len(law) != len(matrix):
        raise ValueError(f"law: has {len(law)} entries, but the matrix has {len(matrix)} rows")
    joint = (_distribution("law", law)[:, None] * matrix).T
    possible = joint[joint.sum(axis=1) > 0.0][:, joint.sum(axis=0) > 0.0]
    return distributions(possible / possible.sum(axis=1, keepdims=True), "backward matrix")


def read_backwards(forward: Matrix) -> Floats | None:
    """Return P(previous | now) of a chain in its long run, or None.

    It is None where some value is left for good, or where a probability is so small that doubles
    lose its digits.

    Values that lead to each other share a long run, and where no others are reached from it, it
    alone says what came before. Whoever leaves a value for good has a past that depends on when and
    how the chain began.

    >>> read_backwards([[0.0, 0.08, 0.92], [0.02, 0.0, 0.98], [0.06, 0.0, 0.94]])[1].tolist()
    [1.0, 0.0, 0.0]
    >>> read_backwards([[0.8, 0.2], [0.0, 1.0]]) is None
    True
    """
    matrix = transition_matrix(forward)
    leads = _leads(matrix)
    if not (leads == leads.T).all():
        return None
    if len(matrix) <= 2 or (matrix == matrix.T).all():
        return matrix
    law = np.zeros(len(matrix))
    for together in leads:
        if law[together][0] == 0.0:
            shares = long_run_law(matrix[np.ix_(together, together)])
            if shares is None:
                return None
            law[together] = shares
    law /= law.sum()
    joint = law[:, None] * matrix
    if law.min() < _SMALLEST or (joint[matrix > 0.0] < _SMALLEST).any():
        return None
    return backward_rows(matrix, law)


def _leads(matrix: Floats) -> NDArray[np.bool_]:
    """Return whether there is a way from one value to another, or to itself."""
    leads = (matrix > 0.0) | np.eye(len(matrix), dtype=bool)
    for over in range(len(matrix)):
        leads |= leads[:, over, None] & leads[over]
    return leads


def long_run_law(forward: Floats) -> Floats | None:
    """Return how often each value occurs in the long run; None unless each leads to every other.

    Nothing is subtracted, so that small shares keep their digits.

    >>> long_run_law(transition_matrix([[0.9, 0.1], [0.2, 0.8]])).round(4).tolist()
    [0.6667, 0.3333]

    Source: Grassmann, Taksar and Heyman 1985.
    """
    left = np.array(forward)
    size = len(left)
    law = np.ones(size)
    for last in range(size - 1, 0, -1):
        leaving = left[last, :last].sum()
        if leaving <= 0.0:
            return None
        left[:last, last] /= leaving
        left[:last, :last] += np.outer(left[:last, last], left[last, :last])
    for value in range(1, size):
        law[value] = (law[:value] * left[:value, value]).sum()
    return law / law.sum() if (law > 0.0).all() else None
