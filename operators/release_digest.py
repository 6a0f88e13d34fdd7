"""A running digest of what a stream has released: 64 bits, the same on every machine.

Not a secret and not a defence: releases are public, and nobody chooses them. Two histories share a
digest by chance only, with probability 2^-64.

>>> extended(np.zeros(2, dtype=np.uint64), np.array([1, 2])).tolist()
[13483730677883737428, 1827367696336018088]
"""

import numpy as np

from fugu.operators.mechanism import Integers, Words

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)


def extended(histories: Words, events: Integers) -> Words:
    """Return the digests after one more event each: SplitMix64 of their combination."""
    mixed = (histories ^ (events.astype(np.uint64) * SECOND)) + GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * SECOND
    extended: Words = mixed ^ (mixed >> np.uint64(31))
    return extended
