"""Write parts of digests as hexadecimal digits in one call, eight digits at a time."""

import numpy as np

from fugu.operators.byte_column import ByteColumn
from fugu.operators.compiled.compiling import entry_point, part, read_only
from fugu.operators.mechanism import Integers, Words

_WORDS_OF_PART = 2
_PARTS = 4
"""Parts of a digest, sixteen bytes each."""
_HALVES, _QUARTERS = np.uint64(0x0000FFFF0000FFFF), np.uint64(0x00FF00FF00FF00FF)
_LOW_DIGITS, _ONES = np.uint64(0x000F000F000F000F), np.uint64(0x0101010101010101)
_ZEROS, _SIXES = np.uint64(0x3030303030303030), np.uint64(0x0606060606060606)
_FROM_COLON_TO_A = np.uint64(ord("a") - ord(":"))


def write_parts(digests: Words, places: Integers) -> ByteColumn:
    """Write the parts at these places among all parts of all digests `(digests, 8)`.

    >>> list(write_parts(np.arange(8, dtype=np.uint64)[None], np.array([1])))
    [b'02000000000000000300000000000000']
    """
    digits = np.empty((len(places), 2 * _WORDS_OF_PART), dtype=np.uint64)
    if not _write_parts(digests, read_only(places), digits):
        raise IndexError("a place is that of no digest")
    return ByteColumn.of_table(digits.view(np.uint8))


@entry_point
def _write_parts(digests: Words, places: Integers, digits: Words) -> bool:
    """Write the digits of each part; return whether all places are there."""
    for row in range(len(places)):
        if not 0 <= places[row] < _PARTS * len(digests):
            return False
        digest, first = places[row] // _PARTS, places[row] % _PARTS * _WORDS_OF_PART
        for number in range(_WORDS_OF_PART):
            word = digests[digest, first + number]
            digits[row, 2 * number] = _digits_of(word & np.uint64(0xFFFFFFFF))
            digits[row, 2 * number + 1] = _digits_of(word >> np.uint64(32))
    return True


@part
def _digits_of(half: np.uint64) -> np.uint64:
    """Return eight digits as the bytes of a word, for the four bytes of half a word."""
    spread = (half | half << np.uint64(16)) & _HALVES
    spread = (spread | spread << np.uint64(8)) & _QUARTERS
    values = spread >> np.uint64(4) & _LOW_DIGITS | (spread & _LOW_DIGITS) << np.uint64(8)
    letters = values + _SIXES >> np.uint64(4) & _ONES
    return values + _ZEROS + letters * _FROM_COLON_TO_A
