"""Leakage over time: the acceptance numbers, closed limits, and how leakages move."""

from math import inf, log

import numpy as np
import pytest

from fugu.operators.leakage.correlation import TemporalCorrelation, recursion, user_level
from fugu.operators.leakage.leakage_function import LeakageFunction
from tests.operators.leakage.chains import IDENTITY, UNIFORM, A, B, C, D, with_zeros


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
