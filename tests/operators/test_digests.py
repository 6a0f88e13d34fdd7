"""Digests of many strings are those of `hashlib`, whatever lengths they have."""

from hashlib import blake2b

import numpy as np

from fugu.operators.digests import digests_of
from fugu.operators.randomness import WORTH_HASHING


def test_digests_are_those_of_hashlib_at_every_length() -> None:
    content = np.random.default_rng(3).bytes(600)
    strings = [content[:length] for length in range(1, 600)]
    expected = [blake2b(string, digest_size=32).digest() for string in strings]
    assert list(digests_of(strings)) == expected


def test_empty_strings_and_few_have_the_same_digests() -> None:
    strings = [b"", *(b"%d" % number for number in range(2 * WORTH_HASHING))]
    expected = [blake2b(string, digest_size=32).digest() for string in strings]
    assert list(digests_of(strings)) == expected
    assert list(digests_of(strings[:2])) == expected[:2]
    assert list(digests_of([])) == []
