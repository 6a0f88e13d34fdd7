"""Invariants of every tick of every stream, whatever is drawn and whatever the values are."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fugu.operators.mechanism import Kind
from fugu.operators.temporal.temporal_perturbation import Phase, is_there
from fugu.operators.temporal.threshold import ExtendedThresholdPerturbation, ThresholdPerturbation
from tests.operators.temporal.runs import Run, numbers

WINDOWS = st.integers(3, 12).flatmap(lambda k: st.tuples(st.just(k), st.integers(2, k - 1)))
SEEDS = st.integers(0, 255)
ROWS = 8


@settings(max_examples=60)
@given(WINDOWS, SEEDS)
def test_the_threshold_mechanism_keeps_c0_slots_free_and_m_values_waiting(
    window: tuple[int, int], seed: int
) -> None:
    k, c0 = window
    run = Run(ThresholdPerturbation(k=k, c0=c0, warm_up="emit"), ROWS, seed)
    for tick in range(1, 4 * k):
        run.advance(1)
        occupied, there = run.state["occupied"], is_there(run.state["slots"])
        assert ((~occupied).sum(axis=1) == c0).all()
        assert (occupied | ~there).all()
        if tick >= k - 1:
            assert (there == occupied).all()
            assert (there.sum(axis=1) == k - c0).all()
        if tick >= k:
            assert (run.released[-1] > 0).all()


@settings(max_examples=60)
@given(WINDOWS, SEEDS)
def test_each_value_leaves_once_within_its_window_and_the_start_loses_c0_less_1(
    window: tuple[int, int], seed: int
) -> None:
    k, c0 = window
    last = 3 * k
    run = Run(ThresholdPerturbation(k=k, c0=c0, warm_up="emit"), ROWS, seed).advance(last)
    _, cool_down = run.finish()
    released = np.array([*run.released, *(numbers(releases) for releases in cool_down)])
    for row in released.T:
        left = np.flatnonzero(row) + 1
        values = row[left - 1]
        assert sorted(values.tolist()) == list(range(1, last + 1))
        waited = (left - values)[left <= last]
        assert ((waited >= 0) & (waited < k)).all()
        assert (left[left > last] == last + np.arange(1, k - c0 + 1)).all()
        assert np.count_nonzero(row[: k - 1]) == c0 - 1


@settings(max_examples=40)
@given(WINDOWS, SEEDS)
def test_a_cold_start_has_m_empty_ticks_and_never_fewer_than_c0_free_slots(
    window: tuple[int, int], seed: int
) -> None:
    k, c0 = window
    mechanism = ThresholdPerturbation(k=k, c0=c0, start_mode="cold", warm_up="emit")
    run, free = Run(mechanism, ROWS, seed), np.full(ROWS, k)
    for _ in range(12 * k):
        run.advance(1)
        now = (~run.state["occupied"]).sum(axis=1)
        assert (now >= c0).all()
        assert (now == free - ((run.released[-1] == 0) & (free > c0))).all()
        free = now
    empty = (np.array(run.released) == 0).sum(axis=0)
    assert (empty == k - free).all()
    assert (free == c0).any()


@settings(max_examples=40)
@given(WINDOWS, st.floats(0.01, 1.0), SEEDS)
def test_the_extended_mechanism_drops_only_values_that_need_not_wait(
    window: tuple[int, int], acceptance: float, seed: int
) -> None:
    k, c0 = window
    mechanism = ExtendedThresholdPerturbation(k=k, c0=c0, acceptance=acceptance, warm_up="emit")
    run = Run(mechanism, ROWS, seed)
    for tick in range(1, 3 * k):
        need_not_wait = ~run.state["occupied"][:, (tick - 1) % k]
        run.advance(1)
        assert ((~run.state["occupied"]).sum(axis=1) == c0).all()
        if tick >= k:
            empty = run.released[-1] == 0
            assert (need_not_wait | ~empty).all()
            holds = (run.state["slots"] == b"%d" % tick).any(axis=1)
            assert (holds == ~need_not_wait).all()


@settings(max_examples=40)
@given(WINDOWS, SEEDS, st.sets(st.integers(1, 40), max_size=20))
def test_a_tick_without_a_value_is_dispatched_like_one(
    window: tuple[int, int], seed: int, none_at: set[int]
) -> None:
    """Its slot is reserved, and its release is empty: all others leave once, in their window."""
    k, c0 = window
    run = Run(ThresholdPerturbation(k=k, c0=c0, warm_up="emit"), ROWS, seed)
    run.advance(40, none_at=tuple(none_at))
    assert ((~run.state["occupied"]).sum(axis=1) == c0).all()
    _, cool_down = run.finish()
    released = np.array([*run.released, *(numbers(releases) for releases in cool_down)])
    for row in released.T.tolist():
        assert sorted(filter(None, row)) == sorted(set(range(1, 41)) - none_at)


@settings(max_examples=20)
@given(WINDOWS, SEEDS)
def test_phases_and_kinds_are_a_function_of_the_tick(window: tuple[int, int], seed: int) -> None:
    k, c0 = window
    run = Run(ThresholdPerturbation(k=k, c0=c0), ROWS, seed).advance(2 * k)
    for tick, releases in enumerate(run.releases, start=1):
        early = tick < k
        assert (releases.annotations["tick"] == tick).all()
        assert (releases.annotations["phase"] == (Phase.WARM_UP if early else Phase.STEADY)).all()
        assert releases.kinds is not None
        assert (releases.kinds == (Kind.SUPPRESSED if early else Kind.FRESH)).all()
        assert not early or not is_there(releases.values).any()
