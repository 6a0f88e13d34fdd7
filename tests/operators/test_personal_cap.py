"""Personal caps: who counts when, and by how much neighbours may differ then."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from fugu.operators.mechanism import Integers
from fugu.operators.personal_cap import LARGEST_COUNT, Allowance, PersonalCap


def counts(cap: PersonalCap, there: Integers, first: int = 0) -> Integers:
    """Which of the ticks count in each world: `there (worlds, ticks)` says where a person is."""
    counted, found = cap.start(len(there)), np.zeros_like(there)
    for place, column in enumerate(there.T.astype(bool)):
        now = cap.may_count(counted, first + place) & column
        counted = cap.after(counted, first + place, now)
        found[:, place] = now
    return found


def patterns(ticks: int) -> Integers:
    return np.array(list(product((0, 1), repeat=ticks)))


def by_hand(cap: PersonalCap, there: list[int], first: int) -> Iterator[int]:
    """The rule as the specification writes it."""
    period, used, last = None, 0, None
    for place, present in enumerate(there):
        tick = first + place
        if tick // cap.ticks != period:
            period, used, last = tick // cap.ticks, 0, None
        now = present and used < cap.allowed(tick) and (last is None or tick - last >= cap.apart)
        if now:
            used, last = used + 1, tick
        yield int(now)


@pytest.mark.parametrize("first", [0, 3, -7, 10**12])
@pytest.mark.parametrize("allowance", ["first", "rising"])
@pytest.mark.parametrize(("at_most", "apart"), [(1, 1), (2, 1), (4, 1), (2, 2), (3, 3)])
def test_the_earliest_ticks_of_a_period_count(
    first: int, allowance: Allowance, at_most: int, apart: int
) -> None:
    cap, there = PersonalCap(at_most, 4, allowance, apart), patterns(9)
    expected = [list(by_hand(cap, world, first)) for world in there.tolist()]
    assert counts(cap, there, first).tolist() == expected


def test_no_period_has_more_than_the_cap() -> None:
    cap = PersonalCap(2, 5)
    found = counts(cap, patterns(10))
    assert found[:, :5].sum(axis=1).max() == found[:, 5:].sum(axis=1).max() == 2


def test_a_window_across_periods_meets_two_of_them() -> None:
    """Section 2: whoever was there in every tick counts at the end of one and at the start of the
    next, so a window is charged twice."""
    found = counts(PersonalCap(1, 3), patterns(6))
    windows = np.lib.stride_tricks.sliding_window_view(found, 3, axis=1).sum(axis=2)
    assert windows.max() == 2


def test_a_rising_allowance_begins_with_one_and_ends_with_all() -> None:
    cap = PersonalCap(20, 312, "rising")
    allowed = [cap.allowed(tick) for tick in range(312)]
    assert (allowed[0], allowed[-1]) == (1, 20)
    assert all(before <= after for before, after in pairwise(allowed))


def test_gaps_of_a_cap_are_kept() -> None:
    found = counts(PersonalCap(3, 10, apart=3), np.ones((1, 10), dtype=np.int64))
    assert np.flatnonzero(found[0]).tolist() == [0, 3, 6]


def test_nobody_counts_in_ticks_that_cannot_be_remembered() -> None:
    cap = PersonalCap(1, 10)
    for tick in (2**48, -(2**48), 2**62):
        assert not cap.may_count(cap.start(2), tick).any()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("at_most", 0),
        ("at_most", 11),
        ("at_most", LARGEST_COUNT + 1),
        ("ticks", 0),
        ("apart", 0),
        ("apart", 11),
    ],
)
def test_a_cap_that_cannot_be_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name}: "):
        replace(PersonalCap(3, 10), **{name: value})


def squares_apart(cap: PersonalCap, ticks: int, mixing: Integers, *, signed: bool) -> int:
    """The largest squared distance of two mixed worlds of one person: in each tick the person is in
    one of two groups, with an amount of one, or nowhere."""
    said = [(1, 0), (0, 1), (0, 0), *([(-1, 0)] if signed else [])]
    worlds = np.array(list(product(said, repeat=ticks)))
    there = (worlds != 0).any(axis=2).astype(np.int64)
    sums = worlds * counts(cap, there)[..., None]
    mixed = np.einsum("st,wtg->wsg", mixing, sums).reshape(len(worlds), -1)
    norms = (mixed**2).sum(axis=1)
    return int((norms[:, None] + norms[None, :] - 2 * mixed @ mixed.T).max())


@pytest.mark.parametrize("at_most", [1, 2, 3])
@pytest.mark.parametrize("ticks", [3, 4])
def test_worlds_of_one_person_differ_by_twice_the_cap_and_no_more(ticks: int, at_most: int) -> None:
    """Theorem 1 with independent noise, over all worlds, moves and other ticks included."""
    cap = PersonalCap(at_most, ticks)
    found = squares_apart(cap, ticks, np.eye(ticks, dtype=np.int64), signed=False)
    assert found == cap.factor * cap.counted


def test_signed_amounts_differ_by_four_times_the_cap() -> None:
    cap = PersonalCap(2, 4, signed=True)
    assert squares_apart(cap, 4, np.eye(4, dtype=np.int64), signed=True) == 4 * 2 == cap.factor * 2


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(
    ("ticks", "at_most", "apart"), [(4, 1, 1), (4, 2, 1), (4, 2, 2), (3, 3, 1)]
)
def test_figures_of_worlds_differ_in_all_by_twice_what_counts(
    ticks: int, at_most: int, apart: int, signed: bool
) -> None:
    """Theorem 1 in L1, over all worlds: what Laplace noise on every tick is for. A figure moves by
    one, or by two with signs, and so many figures do at most."""
    cap = PersonalCap(at_most, ticks, apart=apart, signed=signed)
    said = [(1, 0), (0, 1), (0, 0), *([(-1, 0)] if signed else [])]
    worlds = np.array(list(product(said, repeat=ticks)))
    there = (worlds != 0).any(axis=2).astype(np.int64)
    sums = (worlds * counts(cap, there)[..., None]).reshape(len(worlds), -1)
    moved = np.abs(sums[:, None] - sums[None, :])
    assert moved.sum(axis=2).max() == 2 * cap.counted
    assert moved.max() == cap.largest_move
    assert (moved > 0).sum(axis=2).max() == 2 * cap.counted
    assert (moved == 2).sum(axis=2).max() == (cap.counted if signed else 0)


@pytest.mark.parametrize(("at_most", "apart"), [(1, 1), (2, 1), (3, 1), (2, 2), (2, 3)])
def test_mixed_worlds_differ_by_twice_the_norm_of_the_first_columns(
    at_most: int, apart: int
) -> None:
    """Theorems 1 and 2 for a falling column, in integers: 4, 3, 2, 1 quarters."""
    ticks, column = 4, [4, 3, 2, 1]
    mixing = np.array(
        [[column[s - t] if s >= t else 0 for t in range(ticks)] for s in range(ticks)]
    )
    cap = PersonalCap(at_most, ticks, apart=apart)
    first = np.zeros(ticks, dtype=np.int64)
    first[[place * apart for place in range(cap.counted)]] = 1
    norm = int(((mixing @ first) ** 2).sum())
    assert squares_apart(cap, ticks, mixing, signed=False) == 2 * norm


def test_a_cap_that_would_charge_its_ticks_once_is_found_out() -> None:
    """The attack that breaks the claim of one k: moves of all k ticks reach 2 k."""
    assert squares_apart(PersonalCap(2, 4), 4, np.eye(4, dtype=np.int64), signed=False) > 2
