"""L_P: the numbers of the specification, brute force, and what must hold for every matrix."""

from itertools import pairwise
from math import inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fugu.operators.leakage.correlation import recursion
from fugu.operators.leakage.leakage_function import LeakageFunction
from tests.operators.leakage.brute_force import by_pruning, over_all_subsets
from tests.operators.leakage.chains import (
    IDENTITY,
    UNIFORM,
    A,
    B,
    C,
    D,
    positive,
    with_zeros,
)

TABLE = [
    (IDENTITY, 1.0, 1.0, inf, inf),
    (A, 0.8, 0.864840, inf, 0.645907),
    (B, 0.3, 0.292778, 1.388194, 0.143203),
    (C, 0.5, 0.549948, 2.149125, 0.205994),
    (D, 0.8, 0.776137, 2.749727, 0.486221),
    (UNIFORM, 0.0, 0.0, 1.0, 0.1),
]
ALPHAS = (1e-6, 0.01, 0.3, 1.0, 3.0, 10.0, 100.0)


@pytest.mark.parametrize(("rows", "slope", "at_one", "at_most", "at_a_tenth"), TABLE)
def test_the_table_of_the_specification(
    rows: list[list[float]], slope: float, at_one: float, at_most: float, at_a_tenth: float
) -> None:
    leakage = LeakageFunction.of(rows)
    assert leakage(1e-7) / 1e-7 == pytest.approx(slope, abs=1e-6)
    assert leakage(1.0) == pytest.approx(at_one, abs=5e-7)
    assert leakage.supremum(1.0) == pytest.approx(at_most, abs=5e-7)
    assert leakage.supremum(0.1) == pytest.approx(at_a_tenth, abs=5e-7)


def test_prefixes_and_pruning_agree_with_brute_force_over_subsets() -> None:
    rng = np.random.default_rng(1)
    for number in range(150):
        rows = (with_zeros if number % 3 else positive)(rng, int(rng.integers(2, 7)))
        leakage = LeakageFunction.of(rows)
        for alpha in (0.01, 0.7, 4.0):
            exact = over_all_subsets(rows, alpha)
            assert by_pruning(rows, alpha) == pytest.approx(exact, abs=1e-13)
            assert exact - 1e-15 <= leakage(alpha) <= exact + 1e-13


def test_suprema_are_what_the_recursion_tends_to() -> None:
    rng = np.random.default_rng(2)
    bounded = 0
    for number in range(60):
        rows = (with_zeros if number % 2 else positive)(rng, int(rng.integers(2, 6)))
        leakage = LeakageFunction.of(rows)
        epsilon = float(rng.choice([0.02, 0.1, 0.5, 2.0]))
        supremum = leakage.supremum(epsilon)
        steps = recursion(leakage, [epsilon] * 400)
        if supremum == inf:
            assert leakage.certain * np.exp(epsilon) >= 1.0 - 1e-12
            assert steps[-1] > steps[-2] > steps[-3]
        else:
            bounded += 1
            assert steps[-1] <= supremum + 1e-11
            assert leakage(supremum) + epsilon == pytest.approx(supremum, rel=1e-9), "a fixed point"
    assert 20 < bounded < 60


def test_leakage_is_bounded_exactly_where_what_is_certain_times_e_to_epsilon_is_below_1() -> None:
    absorbing = LeakageFunction.of(A)
    assert absorbing.bounded_below == pytest.approx(-log(0.8), abs=1e-12)
    assert absorbing.supremum(-log(0.8) - 1e-9) < 25.0
    assert absorbing.supremum(-log(0.8) + 1e-9) == inf
    for rows in (IDENTITY, [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]):
        permutation = LeakageFunction.of(rows)
        assert (permutation.certain, permutation.bounded_below) == (1.0, 0.0)
        assert permutation.supremum(1e-12) == inf
    for rows in (B, C, D, UNIFORM):
        assert LeakageFunction.of(rows).bounded_below == inf


def test_a_small_epsilon_is_divided_by_what_the_slope_leaves() -> None:
    for rows, slope, *_ in TABLE[1:]:
        supremum = LeakageFunction.of(rows).supremum(1e-6)
        assert supremum == pytest.approx(1e-6 / (1.0 - slope), rel=1e-4)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.floats(0.0, 50.0), st.floats(0.0, 50.0))
def test_leakage_grows_with_what_is_known_and_never_beyond_it(
    seed: int, size: int, one: float, other: float
) -> None:
    leakage = LeakageFunction.of(with_zeros(np.random.default_rng(seed), size))
    low, high = sorted((one, other))
    assert leakage(0.0) == 0.0
    assert 0.0 <= leakage(low) <= leakage(high) + 1e-12
    assert leakage(high) <= high
    assert leakage(high) - leakage(low) <= high - low + 1e-12, "the slope is at most 1"


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.sampled_from(ALPHAS))
def test_mixing_in_the_uniform_law_leaks_less(seed: int, size: int, alpha: float) -> None:
    rows = with_zeros(np.random.default_rng(seed), size)
    shares = (0.0, 0.1, 0.5, 1.0)
    mixed = [LeakageFunction.of((1 - share) * rows + share / size)(alpha) for share in shares]
    assert all(more >= less - 1e-12 for more, less in pairwise(mixed))
    assert mixed[-1] < 1e-10


def test_huge_leakages_do_not_overflow() -> None:
    assert LeakageFunction.of(IDENTITY)(1e6) == 1e6
    assert LeakageFunction.of(A)(1e6) == pytest.approx(1e6 + log(0.8))
    assert LeakageFunction.of(D)(1e6) == pytest.approx(log(9.0), abs=1e-7)
    assert LeakageFunction.of(D).supremum(2e3) == pytest.approx(2e3 + log(9.0))
    assert LeakageFunction.of(A).supremum(2e3) == inf
    subnormal = [[1.0, 0.0], [1.0, 1e-310]]
    assert 0.0 <= LeakageFunction.of(subnormal)(1e4) <= 1e4


def test_one_value_tells_nothing_about_the_next() -> None:
    only = LeakageFunction.of([[1.0]])
    assert (only(5.0), only.supremum(0.3), only.bounded_below) == (0.0, 0.3, inf)


def test_a_whole_number_of_nats_leaks_as_much_as_the_same_double() -> None:
    for matrix in (A, B, C, D):
        assert LeakageFunction.of(matrix)(1) == LeakageFunction.of(matrix)(1.0)


@pytest.mark.parametrize("matrix", [A, B, C, D])
def test_slopes_are_at_most_one(matrix: list[list[float]]) -> None:
    """So what is known more adds to what leaks at most by as much: L(a + b) <= L(a) + b."""
    leaks = LeakageFunction.of(matrix)
    for alpha in np.linspace(0.0, 12.0, 60).tolist():
        for more in (1e-3, 0.3, 2.0):
            assert leaks(alpha + more) <= leaks(alpha) + more + 1e-12
