"""Compute digests without a key: of many strings at once, and of all that a stream has released.

>>> extended(np.zeros(2, dtype=np.uint64), np.array([1, 2])).tolist()
[13483730677883737428, 1827367696336018088]
"""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from fugu.operators import compiled
from fugu.operators.columns import DIGEST_BYTES, ByteColumn, bytes_of
from fugu.operators.mechanism import Integers, Words
from fugu.operators.randomness import WORTH_HASHING


def digests_of(contents: Sequence[bytes], digest_bytes: int = DIGEST_BYTES) -> ByteColumn:
    """Return BLAKE2b of each string, of so many bytes, a multiple of 8; what draws are bound to
    has 32.

    >>> digests_of([b"anna", b""])[0] == blake2b(b"anna", digest_size=32).digest()
    True
    """
    column = ByteColumn.of(contents)
    if len(column) >= WORTH_HASHING and column.lengths.all() and compiled.available():
        from fugu.operators.compiled_keyed_words import compiled_digests

        return ByteColumn.of_table(compiled_digests(column, digest_bytes))
    digests = [blake2b(content, digest_size=digest_bytes).digest() for content in column]
    return ByteColumn.of_table(bytes_of(b"".join(digests)).reshape(-1, digest_bytes))


GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)


def extended(histories: Words, events: Integers) -> Words:
    """Return the digests after one more event each: SplitMix64 of their combination.

    A digest is not a secret and not a defence: releases are public, and nobody chooses them. Two
    histories share a digest by chance only, with probability 2^-64.
    """
    mixed = (histories ^ (events.astype(np.uint64) * SECOND)) + GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * SECOND
    extended: Words = mixed ^ (mixed >> np.uint64(31))
    return extended
