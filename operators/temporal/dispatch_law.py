"""Compute the laws by which values are dispatched over ticks, and what they cost."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite, log

import numpy as np

from fugu.operators.budget_units import exact_exp
from fugu.operators.mechanism import Array, Floats


@dataclass(frozen=True)
class Expected:
    """Tell how many of each there are per value, and the mean delay in ticks."""

    missing: float
    repeated: float
    empty: float
    delay: float


@dataclass(frozen=True)
class Costs:
    """Price one missing, one repeated, one empty and one delayed tick.

    Raises `ValueError` naming the price.

    >>> round(Costs(missing=20, repeated=20, empty=20).of(backward(20, 0.390684, 0.0320693)), 2)
    15.66

    Source: TLDP specification, section 2; Ye et al. 2021, Table I.
    """

    missing: float = 1.0
    repeated: float = 1.0
    empty: float = 1.0
    delay: float = 1.0

    def __post_init__(self) -> None:
        for name in ("missing", "repeated", "empty"):
            if not isfinite(getattr(self, name)) or getattr(self, name) < 0.0:
                raise ValueError(f"{name}: a cost must be a number, 0 or more")
        if not isfinite(self.delay) or self.delay <= 0.0:
            raise ValueError("delay: the cost of a tick must be a number above 0")

    def of(self, expected: Expected) -> float:
        """Return the expected cost of a value."""
        return (
            expected.missing * self.missing
            + expected.repeated * self.repeated
            + expected.empty * self.empty
            + expected.delay * self.delay
        )


def backward(k: int, none: float, each: float) -> Expected:
    """Return that of BPM, whose lag is 0 with probability `none`, and each other with `each`."""
    lost, delay = _lost(k, none, each), _delay(k, none, each)
    return Expected(missing=lost, repeated=lost, empty=0.0, delay=delay)


def forward(k: int, none: float, each: float) -> Expected:
    """Return that of FPM: what is lost left an empty tick instead of a repetition."""
    lost, delay = _lost(k, none, each), _delay(k, none, each)
    return Expected(missing=lost, repeated=0.0, empty=lost, delay=delay)


def threshold(k: int, c0: int, undelayed: float, acceptance: float) -> Expected:
    """Return that of TM and ETM, where a value need not wait with probability `undelayed`."""
    lost = undelayed * (1.0 - acceptance)
    return Expected(missing=lost, repeated=0.0, empty=lost, delay=float(k - c0))


def _lost(k: int, none: float, each: float) -> float:
    return (1.0 - none) * (1.0 - each) ** (k - 1)


def _delay(k: int, none: float, each: float) -> float:
    waited = sum(j * (1.0 - each) ** (j - 1) for j in range(1, k))
    return each * (1.0 - none) * waited


SMALLEST_K, LARGEST_K = 3, 1000
TOLERANCE = 1e-9
"""Nats by which a derived budget may exceed the one that was asked for."""
ROUNDING = 4 * 2.0**-53
"""The relative error of a ratio, for each row above it."""
_LARGEST_BUDGET = 1400.0
"""Above every derived budget."""


@lru_cache(maxsize=4)
def _table(rows: int) -> Floats:
    ratio = np.full((rows, rows + 1), inf)
    ratio[1:, 1] = 0.0
    counts = np.arange(rows + 1.0)
    for n in range(2, rows):
        above = ratio[n - 1]
        grown = above[2:n] * (counts[1 : n - 1] + above[1 : n - 1])
        ratio[n, 2:n] = grown / (counts[2:n] + above[2:n])
        ratio[n, n] = n * (n - 1) / 2
    ratio.setflags(write=False)
    return ratio


def _neighbour_ratios(k: int) -> Floats:
    """Return t(n, c) for n and c up to k, and beyond; infinite where S(n, c) is 0.

    It follows from the row above,

        t(n, c) = t(n-1, c) (c - 1 + t(n-1, c-1)) / (c + t(n-1, c))

    with additions, multiplications and divisions of positive numbers alone. So the relative error
    is below 4 n roundings (their weights in the recursion sum to at most 1), and the bits are the
    same on every machine.
    """
    return _table(64 if k < 64 else 256 if k < 256 else LARGEST_K + 1)


@lru_cache(maxsize=32)
def delay_law(k: int, c0: int) -> Floats:
    """Return P(a value leaves j ticks after it came), j = 0..k-1.

    In steady state the reserved slots are the uniform juggling Markov chain (Warrington 2005) with
    k-c0 balls, whose law is written in Stirling numbers of the second kind, S(n, c). They are never
    computed: everything is made of the ratio of neighbours in a row, t(n, c) = S(n, c-1) / S(n, c):

        P(delay 0)               = t(k-1, c0) / (c0 + t(k-1, c0))
        P(delay 0) / P(delay 1)  = c0 - 1 + t(k-2, c0-1)      grows with c0
        P(delay k-1) / P(delay 1) = 1 + c0 / t(k-2, c0)       falls with c0

    Delay 1 is always the least likely, and 0 or k-1 the most likely one.

    >>> (25 * delay_law(5, 3)).round(9).tolist()
    [7.0, 3.0, 4.0, 5.0, 6.0]

    Source: TLDP specification, section 3; Ye et al. 2021, Lemma 4.1 and Theorem 4.2, whose
    alternating sums are equal to this and lose all digits in doubles.
    """
    ratio = _neighbour_ratios(k)[:, c0]
    law = within = np.ones(c0)
    for n in range(c0 + 1, k + 1):
        whole = c0 + ratio[n - 1]
        law = np.concatenate([ratio[n - 1 : n] / whole, within / whole])
        within = np.cumsum(law)
    law.setflags(write=False)
    return law


@lru_cache(maxsize=8)
def free_chances(k: int, c0: int) -> Floats:
    """Return P(the first of n slots is free given that z of them are), row n, column z."""
    ratio = _neighbour_ratios(k)[:k, : c0 + 1]
    chances = np.zeros((k + 1, c0 + 1))
    with np.errstate(invalid="ignore"):
        chances[1:] = np.where(np.isinf(ratio), 1.0, ratio / (np.arange(c0 + 1.0) + ratio))
    chances.setflags(write=False)
    return chances


def early_ratios(k: int) -> Floats:
    """Return P(delay 0) / P(delay 1) for c0 = 2..k-1; it grows."""
    return np.arange(1.0, k - 1) + _neighbour_ratios(k)[k - 2, 1 : k - 1]


def late_ratios(k: int) -> Floats:
    """Return P(delay k-1) / P(delay 1) for c0 = 2..k-1; it falls to 1."""
    return 1.0 + np.arange(2.0, k) / _neighbour_ratios(k)[k - 2, 2:k]


def largest_ratios(k: int) -> Floats:
    """Return P(the most likely delay) / P(the least likely one) for c0 = 2..k-1."""
    return np.maximum(early_ratios(k), late_ratios(k))


def largest_ratio_within(epsilon: float) -> float:
    """Return e^(epsilon / 2), with the tolerance."""
    return exact_exp((min(epsilon, _LARGEST_BUDGET) + TOLERANCE) / 2.0)


def derived_budget(k: int, c0: int) -> float:
    """Return the smallest epsilon that bounds the law of (k, c0).

    It is twice the logarithm of the ratio of the most to the least likely delay.

    >>> round(derived_budget(10, 7), 3)
    4.595
    """
    return 2.0 * log(largest_ratios(k)[c0 - 2])


def smallest_budget(k: int) -> tuple[float, int]:
    """Return the smallest derived budget of this k, and its c0 (of two, the larger one).

    >>> smallest_budget(10)
    (3.0381077019316627, 5)
    """
    ratios = largest_ratios(k)
    c0 = k - 1 - int(np.argmin(ratios[::-1]))
    return derived_budget(k, c0), c0


@lru_cache(maxsize=32)
def largest_window(epsilon: float) -> int:
    """Return the largest k, up to 1000, some c0 of which has a derived budget within epsilon.

    >>> largest_window(5.0)
    33
    """
    limit = largest_ratio_within(epsilon)
    return max(k for k in range(SMALLEST_K, LARGEST_K + 1) if largest_ratios(k).min() <= limit)


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
