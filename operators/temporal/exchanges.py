"""Exchanges of two values: the exact share of outputs of TM and ETM that they make impossible."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from fugu.operators.mechanism import Array, Floats
from fugu.operators.temporal.dispatch_law import free_chances


@lru_cache(maxsize=8)
def impossible_shares(k: int, c0: int, acceptance: float) -> Floats:
    """Return the share of outputs that are impossible after an exchange, for D = 1..k-1.

    Values of ticks i and j = i + D change places. Where both are published, an output is possible
    in both orders if and only if the first one leaves at tick j or later, and the second one within
    k - 1 ticks of i. Where both are dropped, it is. Where one of them is dropped, it is not: an
    empty tick says whose value it lacks.

    Slots that are free wait in a list of c0, from the tick at which they come in sight to the one
    at which a value takes them. Each tick takes its own slot if that is still in the list, and any
    of the c0 otherwise, all alike. So of those that were free at tick i, not yet passed, only two
    numbers count: how many there are, and how many of them have been taken, which may be any of
    them. Slots are passed one by one, and are free or not as the stationary law says
    (`dispatch_law.free_chances`). This takes k c0 (k - c0) steps, and no sum over occupancies.

    >>> impossible_shares(5, 3, acceptance=1.0).round(3).tolist()
    [0.44, 0.653, 0.84, 1.0]

    Source: TLDP specification, section 6, whose table has some of these shares for TM.
    """
    first_free = free_chances(k, c0)[k, c0]
    shares = np.ones(k - 1)
    for distance, (weight, free, left) in enumerate(_passed(k, c0, marked=True)):
        own = free * left
        possible = (1.0 - own) * _remaining(k, c0, marked=True) / c0 + own * acceptance
        shares[distance] -= (1.0 - first_free) * float((weight * possible).sum())
    if acceptance < 1.0:
        dropped = first_free * (1.0 - acceptance) ** 2
        for distance, (weight, free, left) in enumerate(_passed(k, c0, marked=False)):
            shares[distance] -= dropped * float((weight * free * left).sum())
    shares.setflags(write=False)
    return shares


def _passed(k: int, c0: int, *, marked: bool) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Yield for D = 1..k-1, before tick i + D: the law of (how many slots that were free at tick i
    are not passed, how many of them have been taken); P(the slot of this tick was free); and P(if
    it was, it is still in the list).

    `marked`: tick i did not take its own slot, but one of those, which is not passed before i + D
    and is not counted as taken. Otherwise it took its own.
    """
    unpassed, taken = _numbers(k, c0)
    remaining = _remaining(k, c0, marked=marked)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(unpassed > 0.0, remaining / unpassed, 0.0)
        gone = np.where(unpassed > 0.0, taken / unpassed, 0.0)
    chances = free_chances(k, c0)
    weight = np.zeros(remaining.shape)
    weight[c0 if marked else c0 - 1, 0] = 1.0
    for slots in range(k - 1, 0, -1):
        free = chances[slots][:, None]
        yield weight, free, left
        unforced = weight * (1.0 - free)
        unforced[:-1, :-1] += (weight * free * gone)[1:, 1:]
        took = unforced * remaining / c0
        after = unforced - took
        after[:, 1:] += took[:, :-1]
        after[:-1] += (weight * free * left)[1:]
        weight = after


def _numbers(k: int, c0: int) -> tuple[Floats, Floats]:
    """Return what there may be unpassed and taken; no more than the k - c0 values that wait are."""
    return np.arange(c0 + 1.0)[:, None], np.arange(min(c0, k - c0) + 1.0)[None, :]


def _remaining(k: int, c0: int, *, marked: bool) -> Floats:
    """Return how many of the unpassed slots nobody has taken; 0 where the numbers cannot be."""
    unpassed, taken = _numbers(k, c0)
    return np.maximum(unpassed - taken - (1.0 if marked else 0.0), 0.0)


def by_distance(shares: Array) -> dict[str, float]:
    """Return shares by the distance of the two values: 1, 2, ..."""
    return {str(distance): share for distance, share in enumerate(shares.tolist(), start=1)}
