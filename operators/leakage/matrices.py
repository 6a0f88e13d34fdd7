"""Checked transition matrices."""

from collections.abc import Sequence
from math import fsum, isfinite

import numpy as np

from fugu.operators.mechanism import Floats

SUM_TOLERANCE = 1e-9

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
