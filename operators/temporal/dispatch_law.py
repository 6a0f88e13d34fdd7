"""The exact law of the delay of the threshold mechanism, and its budget."""

from functools import lru_cache
from math import inf, log

import numpy as np

from fugu.operators.budget_units import exact_exp
from fugu.operators.mechanism import Floats

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
