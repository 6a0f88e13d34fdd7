"""Leakage over time: the acceptance numbers, closed limits, and how leakages move."""

import re
from itertools import pairwise
from math import inf, log, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fugu.operators.budget_units import LARGEST_CHARGE, in_nats, units_of
from fugu.operators.leakage.correlation import (
    OnlineLeakage,
    TemporalCorrelation,
    recursion,
    user_level,
)
from fugu.operators.leakage.leakage_function import LeakageFunction, transition_matrix
from fugu.operators.mechanism import Floats
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


@pytest.mark.parametrize(
    ("rows", "limit", "at_a_tenth"),
    [
        (IDENTITY, inf, inf),
        (A, inf, 1.191813),
        (B, 1.776388, 0.186406),
        (C, 3.298249, 0.311988),
        (D, 4.499453, 0.872441),
        (UNIFORM, 1.0, 0.1),
    ],
)
def test_limits_of_the_specification(
    rows: list[list[float]], limit: float, at_a_tenth: float
) -> None:
    correlation = TemporalCorrelation.of(rows, rows)
    assert correlation.limit(1.0) == pytest.approx(limit, abs=1e-6)
    assert correlation.limit(0.1) == pytest.approx(at_a_tenth, abs=1e-6)


def test_ten_ticks_of_an_absorbing_chain() -> None:
    leaked = TemporalCorrelation.of(A, A).over([0.1] * 10)
    backward = [0.1000, 0.1808, 0.2471, 0.3024, 0.3488, 0.3881, 0.4216, 0.4503, 0.4750, 0.4964]
    total = [0.4964, 0.5558, 0.5975, 0.6239, 0.6368, 0.6368, 0.6239, 0.5975, 0.5558, 0.4964]
    assert leaked.backward == pytest.approx(backward, abs=5e-5)
    assert leaked.forward == pytest.approx(backward[::-1], abs=5e-5)
    assert leaked.total == pytest.approx(total, abs=5e-5)


def test_without_a_bound_leakage_grows_by_what_is_certain() -> None:
    backward = [1, 1.8648, 2.6797, 3.4736, 4.2581, 5.0385, 5.8170, 6.5946, 7.3718, 8.1488]
    leaked = recursion(LeakageFunction.of(A), [1.0] * 200)
    assert leaked[:10] == pytest.approx(backward, abs=5e-5)
    assert leaked[-1] - leaked[-2] == pytest.approx(1.0 + log(0.8), abs=1e-9)


def test_short_streams_of_the_specification() -> None:
    backward = TemporalCorrelation.of(B, B).over([1.0] * 5).backward
    assert backward == pytest.approx([1, 1.2928, 1.3662, 1.3832, 1.3871], abs=5e-5)
    assert TemporalCorrelation.of(C, C).over([1.0, 1.0]).backward[1] == pytest.approx(
        1.549948, abs=5e-7
    )
    uneven = TemporalCorrelation.of(B, B).over([0.1, 0.5, 0.0, 0.2, 1.0, 0.05, 0.3]).total
    expected = [0.264564, 0.576027, 0.311990, 0.552203, 1.117517, 0.453148, 0.409619]
    assert uneven == pytest.approx(expected, abs=5e-7)


def test_a_value_that_never_changes_leaks_all_that_is_ever_spent() -> None:
    spends = [0.1, 0.5, 0.0, 0.2, 1.0] * 300
    always = TemporalCorrelation.of(IDENTITY).over(spends)
    assert max(always.total) == pytest.approx(user_level(spends), rel=1e-12)
    assert min(always.total) == pytest.approx(user_level(spends), rel=1e-12)


def test_values_that_tell_nothing_about_each_other_leak_what_their_tick_spends() -> None:
    spends = [0.1, 0.5, 0.0, 0.2, 1.0]
    assert TemporalCorrelation.of(UNIFORM, UNIFORM).over(spends).total == tuple(spends)
    assert TemporalCorrelation.of(UNIFORM).over(spends).total == tuple(spends)


def allocated(flagged: bool, ticks: int = 30, window: int = 3) -> list[float]:
    """Return what every tick spends of a budget allocation with epsilon 1 that always publishes."""
    shares: list[float] = []
    for _ in range(ticks):
        shares.append((0.25 - sum(shares[max(0, len(shares) - window + 1) :])) / 2.0)
    return [1.0 / (2 * window) + (2.0 if flagged else 1.0) * share for share in shares]


@pytest.mark.parametrize(
    ("rows", "table"),
    [
        (B, [(0.434, 0.888), (0.560, 1.134), (0.622, 1.288)]),
        (C, [(0.749, 1.207), (0.972, 1.554), (1.122, 1.788)]),
        (D, [(1.791, 2.242), (2.165, 2.743), (2.388, 3.050)]),
        (A, [(3.069, 3.416), (4.353, 4.746), (5.254, 5.665)]),
    ],
)
def test_a_flag_for_correlation_adds_leakage(
    rows: list[list[float]], table: list[tuple[float, float]]
) -> None:
    correlation = TemporalCorrelation.of(rows, rows)
    streams = [allocated(flagged=False), allocated(flagged=True), [1.0 / 3.0] * 30]
    for spends, (about_one, about_three) in zip(streams, table, strict=True):
        assert max(correlation.over(spends).total) == pytest.approx(about_one, abs=6e-4)
        assert max(correlation.windows(spends, 3)) == pytest.approx(about_three, abs=6e-4)


def test_a_window_tells_more_than_its_ticks_and_less_than_the_stream() -> None:
    rng = np.random.default_rng(3)
    for _ in range(30):
        size = int(rng.integers(2, 5))
        correlation = TemporalCorrelation.of(with_zeros(rng, size), with_zeros(rng, size))
        spends = rng.exponential(0.5, size=8).tolist()
        single = correlation.over(spends).total
        assert correlation.windows(spends, 1) == single
        for window in range(2, 9):
            about = correlation.windows(spends, window)
            assert len(about) == 9 - window
            for first, nats in enumerate(about):
                assert nats >= max(single[first : first + window]) - 1e-12
                assert nats >= sum(spends[first : first + window]) - 1e-12
                assert nats <= user_level(spends) + 1e-12
        assert correlation.windows(spends, 8)[0] == pytest.approx(user_level(spends))
        assert correlation.windows(spends, 99) == correlation.windows(spends, 8)


def test_whatever_more_is_spent_or_released_leaks_more_about_every_tick() -> None:
    rng = np.random.default_rng(4)
    for _ in range(30):
        correlation = TemporalCorrelation.of(with_zeros(rng, 3), with_zeros(rng, 3))
        spends = rng.exponential(0.5, size=6).tolist()
        more = [spent + rng.exponential(0.2) for spent in spends]
        before = correlation.over(spends)
        for after in (correlation.over(more), correlation.over([*spends, 0.3])):
            growing = zip(before.total, after.total, strict=False)
            assert all(less <= greater + 1e-12 for less, greater in growing)
        assert correlation.over([*spends, 0.3]).backward[:6] == before.backward


def test_no_stream_exceeds_the_limit_of_its_largest_spend() -> None:
    rng = np.random.default_rng(5)
    for rows in (A, B, C, D):
        correlation = TemporalCorrelation.of(rows, with_zeros(rng, 2) * 0.9 + 0.05)
        for window in (1, 2, 5):
            spends = (0.2 * rng.random(60)).tolist()
            assert max(correlation.windows(spends, window)) <= correlation.limit(0.2, window)


@pytest.mark.parametrize(
    ("spends", "window", "says"),
    [
        ([0.1, -0.1], 1, "epsilon: must be a number of nats, 0 or more, not -0.1"),
        ([float("nan")], 1, "epsilon: must be a number of nats"),
        ([0.1], 0, "window: must be at least 1 tick, not 0"),
    ],
)
def test_impossible_spends_and_windows_are_refused(
    spends: list[float], window: int, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        TemporalCorrelation.of(B).windows(spends, window)


def test_a_limit_needs_an_epsilon_above_0() -> None:
    with pytest.raises(ValueError, match="epsilon: must be a number of nats above 0, not 0"):
        TemporalCorrelation.of(B).limit(0.0)


# Transition matrices: what is refused, by row and column.


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


# L_P: the numbers of the specification, brute force, and what must hold for every matrix.


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


# Leakage while a stream runs: the recursion, never below it, the same bytes in any company.


def units(*nats: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([units_of(some) for some in nats])


def advanced(online: OnlineLeakage, spends: list[list[float]]) -> list[Floats]:
    """The state after every tick; `spends[t]` has a figure for each row."""
    states = [online.start(len(spends[0]))]
    for spent in spends:
        states.append(online.advance(states[-1], units(*spent)))
    return states[1:]


def test_it_follows_the_recursion_from_above() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        rows = with_zeros(rng, int(rng.integers(2, 5)))
        online = OnlineLeakage(TemporalCorrelation.of(rows, rows))
        spends = rng.choice([0.0, 0.1, 0.75], size=12).tolist()
        exact = 0.0
        for spent, state in zip(spends, advanced(online, [[s] for s in spends]), strict=True):
            exact = over_all_subsets(rows, exact) + spent
            leaked = int(online.leaked(state)[0])
            assert exact <= in_nats(leaked) + 1e-15
            assert in_nats(leaked) <= exact + 2e-11


def test_for_any_start_it_is_between_the_recursion_and_its_limit() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        rows = with_zeros(rng, int(rng.integers(2, 5)))
        correlation = TemporalCorrelation.of(rows)
        online = OnlineLeakage(correlation, most=units_of(0.75))
        spends = rng.choice([0.0, 0.1, 0.75], size=60).tolist()
        followed = correlation.over(spends).backward
        states = advanced(online, [[spent] for spent in spends])
        for least, state in zip(followed, states, strict=True):
            leaked = in_nats(int(online.leaked(state)[0]))
            assert least - 1e-11 <= leaked <= correlation.backward.supremum(0.75) + 1e-11


def test_a_row_has_the_same_bytes_alone_and_in_company() -> None:
    rng = np.random.default_rng(9)
    online = OnlineLeakage(TemporalCorrelation.of(with_zeros(rng, 6)))
    spends = rng.choice([0.0, 0.1, 0.2, 1.3], size=(20, 50)).tolist()
    together = advanced(online, spends)
    for row in (0, 17, 49):
        alone = advanced(online, [[spent[row]] for spent in spends])
        assert [state[0] for state in alone] == [state[row] for state in together]


def test_a_step_leaves_the_state_it_was_given() -> None:
    online = OnlineLeakage(TemporalCorrelation.of(B))
    state = online.start(2)
    online.advance(state, units(1.0, 2.0))
    assert state.tolist() == [1.0, 1.0]


def test_far_beyond_any_use_it_says_that_there_is_no_bound() -> None:
    online = OnlineLeakage(TemporalCorrelation.of(IDENTITY))
    states = advanced(online, [[100.0]] * 8)
    assert in_nats(int(online.leaked(states[5])[0])) == pytest.approx(600.0)
    assert online.leaked(states[6]).tolist() == [LARGEST_CHARGE]
    assert online.leaked(states[7]).tolist() == [LARGEST_CHARGE]


def test_independent_values_leak_what_their_tick_spends() -> None:
    online = OnlineLeakage(TemporalCorrelation.of(UNIFORM))
    (_, last) = advanced(online, [[1.0], [0.25]])
    assert in_nats(int(online.leaked(last)[0])) == pytest.approx(0.25, abs=1e-11)
