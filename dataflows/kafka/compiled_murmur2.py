"""Hash keys as producers in Java do, compiled.

Source: org.apache.kafka.common.utils.Utils.murmur2. Words have 64 bits here, so that a product of
two numbers of 32 bits fits.
"""

import numpy as np

from fugu.operators.columns import ByteColumn, Bytes
from fugu.operators.compiled.compiling import entry_point, read_only
from fugu.operators.mechanism import Integers, Words

_0, _1, _2, _3, _4 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
_SEED, _FACTOR = np.uint64(0x9747B28C), np.uint64(0x5BD1E995)
_LOW = np.uint64(0xFFFFFFFF)
_8, _13, _15, _16, _24 = (np.uint64(bits) for bits in (8, 13, 15, 16, 24))


def murmur2_of(keys: ByteColumn) -> Words:
    """Return the hash of each key, 32 bits."""
    hashes = np.empty(len(keys), dtype=np.uint64)
    _murmur2(keys.content, read_only(keys.begins), read_only(keys.lengths), hashes)
    return hashes


@entry_point
def _murmur2(content: Bytes, begins: Integers, lengths: Integers, hashes: Words) -> None:
    for place in range(np.uint64(len(hashes))):
        at, left = np.uint64(begins[place]), np.uint64(lengths[place])
        hashed = _SEED ^ (left & _LOW)
        while left >= _4:
            word = (
                np.uint64(content[at])
                | np.uint64(content[at + _1]) << _8
                | np.uint64(content[at + _2]) << _16
                | np.uint64(content[at + _3]) << _24
            )
            word = word * _FACTOR & _LOW
            word = (word ^ word >> _24) * _FACTOR & _LOW
            hashed = (hashed * _FACTOR & _LOW) ^ word
            at, left = at + _4, left - _4
        if left == _3:
            hashed ^= np.uint64(content[at + _2]) << _16
        if left >= _2:
            hashed ^= np.uint64(content[at + _1]) << _8
        if left > _0:
            hashed = (hashed ^ np.uint64(content[at])) * _FACTOR & _LOW
        hashed = (hashed ^ hashed >> _13) * _FACTOR & _LOW
        hashes[place] = hashed ^ hashed >> _15
