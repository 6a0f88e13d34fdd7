"""Discrete Gaussian noise with a deviation of 2^14 grid steps, from two words and one table.

    P(k) proportional to e^(-k^2 / (2 sigma^2)),   sigma = 2^14

The table holds C_k = min(2^64 - 1, round(2^64 P(|X| <= k))) for k = 0..10 sigma. The magnitude of a
draw is the number of entries that are at most the first word, its sign the top bit of the second.

Entries come from integers that stand for multiples of 2^-208. With w(k) = e^(-k^2 / (2 sigma^2))
and r(k) = e^(-(2 k + 1) / (2 sigma^2)), w(k + 1) = w(k) r(k) and r(k + 1) = r(k) e^(-2^-28); the
only exponential, e^(-2^-29), is a short series of shifts. Every product is cut off, by less than
one such multiple: after k < 2^19 steps r errs by less than 2^24 of them, w by 2^43, a sum by 2^63,
and an entry by 2^-94, while none is nearer than 2^-19 to where its rounding would change.

>>> words = np.array([[0, 0], [2**64 - 1, 2**63]], dtype=np.uint64)
>>> sample(words).tolist()
[0, -163841]

Source: noise specification, section 4; Canonne, Kamath and Steinke 2020.
"""

from collections.abc import Iterator
from functools import cache
from hashlib import blake2b

import numpy as np

from fugu.operators.mechanism import Integers, Words

PRECISION = 14
"""The deviation is 2^14 grid steps."""
WORDS_PER_DRAW = 2
LARGEST = 10 * 2**PRECISION + 1
"""No draw is farther from zero."""
TABLE_DIGEST = "8d7f7a71af8b3be62c78048ac97668996719cbcb81d6a4347fe525f29431378c"
"""BLAKE2b-256 of the entries as 8 little-endian bytes each."""

_BITS = 208


def sample(words: Words) -> Integers:
    """Draw once for each two words, which are the last axis."""
    magnitude = np.searchsorted(table(), words[..., 0], side="right").astype(np.int64)
    return np.where(words[..., 1] >> np.uint64(63), -magnitude, magnitude)


@cache
def table() -> Words:
    """Return C_k for k = 0..10 sigma, computed at first use and checked."""
    sums = list(_sums())
    total = sums[-1]
    entries = [min(2**64 - 1, ((part << 65) + total) // (2 * total)) for part in sums[:LARGEST]]
    computed = np.array(entries, dtype=np.uint64)
    if blake2b(computed.astype("<u8").tobytes(), digest_size=32).hexdigest() != TABLE_DIGEST:
        raise ArithmeticError("the noise table came out wrong; do not use this machine")
    computed.setflags(write=False)
    return computed


def _sums() -> Iterator[int]:
    """Yield the sums of w(-k) to w(k) for k = 0, 1, 2, ... until w is below 2^-208."""
    ratio = _exponential()
    square = ratio * ratio >> _BITS
    weight = total = 1 << _BITS
    while weight:
        yield total
        weight = weight * ratio >> _BITS
        ratio = ratio * square >> _BITS
        total += 2 * weight


def _exponential() -> int:
    """Return e^(-2^-29) in multiples of 2^-208, by its power series."""
    term, number, total = 1 << _BITS, 0, 0
    while term:
        total += -term if number % 2 else term
        number += 1
        term = (term >> 2 * PRECISION + 1) // number
    return total
