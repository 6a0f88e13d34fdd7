"""Transition matrices: what is refused, and a chain read backwards."""

import re
from math import inf, nan

import numpy as np
import pytest

from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.leakage.matrices import (
    backward_rows,
    long_run_law,
    read_backwards,
    transition_matrix,
)
from tests.operators.leakage.chains import IDENTITY, A, B, with_zeros


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


def test_a_chain_in_its_long_run_satisfies_bayes_rule() -> None:
    rng = np.random.default_rng(5)
    for size in (2, 3, 6):
        forward = rng.dirichlet(np.ones(size), size)
        law = long_run_law(forward)
        assert law is not None
        assert law @ forward == pytest.approx(law, abs=1e-15)
        expected = (law[:, None] * forward).T / law[:, None]
        assert backward_rows(forward, law) == pytest.approx(expected, abs=1e-14)


def test_a_chain_of_two_values_looks_the_same_both_ways() -> None:
    law = long_run_law(np.array(B))
    assert law is not None
    assert law == pytest.approx([4 / 7, 3 / 7])
    assert backward_rows(B, law) == pytest.approx(np.array(B), abs=1e-15)


@pytest.mark.parametrize("rows", [IDENTITY, A, [[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]])
def test_without_ways_from_everywhere_to_everywhere_there_is_no_long_run_law(
    rows: list[list[float]],
) -> None:
    assert long_run_law(np.array(rows)) is None


def test_a_chain_that_falls_apart_is_read_backwards_part_by_part() -> None:
    cycle = [[0.1, 0.9, 0.0], [0.0, 0.1, 0.9], [0.9, 0.0, 0.1]]
    apart = np.kron(np.eye(2), np.array(cycle))
    turned = read_backwards(apart)
    assert turned is not None
    assert turned == pytest.approx(np.kron(np.eye(2), np.array(cycle).T), abs=1e-15)
    assert read_backwards(IDENTITY) is not None
    two = read_backwards(B)
    assert two is not None
    assert two.tolist() == B, "two values look the same both ways"


@pytest.mark.parametrize("rows", [A, [[0.5, 0.5, 0], [0.5, 0.5, 0], [0.1, 0.1, 0.8]]])
def test_nothing_says_what_came_before_where_a_value_is_left_for_good(
    rows: list[list[float]],
) -> None:
    assert read_backwards(rows) is None


def test_small_shares_keep_their_digits() -> None:
    law = long_run_law(np.array([[1.0 - 1e-14, 1e-14], [1.0, 0.0]]))
    assert law is not None
    assert law[1] == pytest.approx(1e-14, rel=1e-12)


def test_values_that_cannot_be_have_no_row_and_no_column() -> None:
    assert backward_rows(A, [0.0, 1.0]).tolist() == [[1.0]]
    assert backward_rows(A, [1.0, 0.0]).tolist() == [[1.0], [1.0]], "it was 0, whatever it is now"
    assert backward_rows([[0.0, 1.0], [0.0, 1.0]], [0.5, 0.5]).tolist() == [[0.5, 0.5]]


def test_a_law_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="law: has 3 entries, but the matrix has 2 rows"):
        backward_rows(A, [0.5, 0.25, 0.25])


def test_zeros_stay_zeros_backwards() -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        forward = with_zeros(rng, 4)
        law = long_run_law(forward)
        if law is not None:
            assert ((backward_rows(forward, law) == 0.0) == (forward.T == 0.0)).all()


def test_what_doubles_lose_the_digits_of_is_not_read_backwards() -> None:
    """The exact row is [5/8, 3/8, 0]; in doubles it came out as [.5, .5, 0]."""
    least = 5e-324
    forward = [[0.5, 0.5, 5 * least], [0.5, 0.5, 3 * least], [0.5, 0.5, 0.0]]
    assert read_backwards(forward) is None
