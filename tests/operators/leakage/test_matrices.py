"""Transition matrices: what is refused, by row and column."""

import re
from math import inf, nan

import pytest

from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.leakage.matrices import transition_matrix
from tests.operators.leakage.chains import B


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "matrix: needs at least one row"),
        ([[0.5, 0.5]], "matrix row 0: has 2 columns, but there are 1 rows; write a square matrix"),
        ([[1.0, 0.0], [1.0]], "matrix row 1: has 1 columns, but there are 2 rows"),
        ([[1.0, 0.0], [1.1, -0.1]], "matrix row 1, column 1: a probability must not be negative"),
        ([[nan, 0.5], [0.5, 0.5]], "matrix row 0, column 0: must be a finite number"),
        ([[0.5, 0.5], [0.5, inf]], "matrix row 1, column 1: must be a finite number"),
        ([[0.5, 0.5], [0.5, 0.5 + 2e-9]], "matrix row 1: must sum to 1 within 1e-09, not to 1.0"),
        ([[0.0, 0.0], [0.5, 0.5]], "matrix row 0: must sum to 1 within 1e-09, not to 0"),
    ],
)
def test_what_is_no_transition_matrix_is_refused_by_row_and_column(
    rows: list[list[float]], says: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(says)}"):
        transition_matrix(rows)


def test_the_matrix_at_fault_is_named() -> None:
    with pytest.raises(ValueError, match=r"^forward matrix row 0: must sum to 1"):
        TemporalCorrelation.of([[0.9]])
    with pytest.raises(ValueError, match=r"^backward matrix row 1, column 0: "):
        TemporalCorrelation.of(B, [[0.5, 0.5], [-0.5, 1.5]])


def test_sums_within_a_billionth_are_taken_to_mean_1() -> None:
    assert transition_matrix([[0.5, 0.5 + 5e-10], [0.5, 0.5]]).sum(axis=1).tolist() == [1.0, 1.0]
