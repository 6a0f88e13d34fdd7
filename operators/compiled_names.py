"""Names of many keys or offsets in one call; see `operators.keyed_prefix` for what they are."""

import numpy as np

from fugu.operators.byte_column import ByteColumn, table_of_integers
from fugu.operators.byte_fields import encode_rows
from fugu.operators.compiled.compiling import entry_point, part, read_only
from fugu.operators.compiled_keyed_words import Absorbed, draw_digests
from fugu.operators.mechanism import Integers, Words

_NAMES = 4
"""Names in a digest."""
_WORDS = 2
"""Words of a digest in a name."""
_HALVES, _QUARTERS = np.uint64(0x0000FFFF0000FFFF), np.uint64(0x00FF00FF00FF00FF)
_DIGITS, _ONES = np.uint64(0x000F000F000F000F), np.uint64(0x0101010101010101)
_ZEROS, _SIXES = np.uint64(0x3030303030303030), np.uint64(0x0606060606060606)
_FROM_COLON_TO_A = np.uint64(ord("a") - ord(":"))


def name_keys(prefix: Absorbed, keys: ByteColumn, tails: ByteColumn) -> ByteColumn:
    """Return the first name in the digest of each key and its tail."""
    digits = np.empty((len(keys), 2 * _WORDS), dtype=np.uint64)
    _write_first(draw_digests(prefix, keys, tails), digits)
    return ByteColumn.of_table(digits.view(np.uint8))


def name_offsets(prefix: Absorbed, offsets: Integers) -> ByteColumn:
    """Return the name of each offset in the digest of its block."""
    offsets, blocks = read_only(offsets), np.empty(len(offsets), dtype=np.int64)
    count = _list_blocks(offsets, blocks)
    contents = ByteColumn.of_table(table_of_integers(blocks[:count]))
    digests = draw_digests(prefix, contents, encode_rows(count))
    digits = np.empty((len(offsets), 2 * _WORDS), dtype=np.uint64)
    _write_in_blocks(offsets, digests, digits)
    return ByteColumn.of_table(digits.view(np.uint8))


@entry_point
def _write_first(digests: Words, digits: Words) -> None:
    """Write the first name in each digest."""
    for row in range(len(digests)):
        _write_name(digests, row, 0, digits, row)


@entry_point
def _list_blocks(offsets: Integers, blocks: Integers) -> int:
    """List the blocks of offsets, one for all neighbours that share it; return how many."""
    count = 0
    for row in range(len(offsets)):
        block = offsets[row] // _NAMES
        if count == 0 or block != blocks[count - 1]:
            blocks[count] = block
            count += 1
    return count


@entry_point
def _write_in_blocks(offsets: Integers, digests: Words, digits: Words) -> None:
    """Write the name of each offset; digests are those of the blocks as they are listed."""
    number = -1
    for row in range(len(offsets)):
        if row == 0 or offsets[row] // _NAMES != offsets[row - 1] // _NAMES:
            number += 1
        _write_name(digests, number, offsets[row] % _NAMES, digits, row)


@part
def _write_name(digests: Words, digest: int, name: int, digits: Words, row: int) -> None:
    for place in range(_WORDS):
        word = digests[digest, _WORDS * name + place]
        digits[row, 2 * place] = _eight_digits(word & np.uint64(0xFFFFFFFF))
        digits[row, 2 * place + 1] = _eight_digits(word >> np.uint64(32))


@part
def _eight_digits(half: np.uint64) -> np.uint64:
    """Return hexadecimal digits, as the bytes of a word, for the four bytes of half a word."""
    spread = (half | half << np.uint64(16)) & _HALVES
    spread = (spread | spread << np.uint64(8)) & _QUARTERS
    values = spread >> np.uint64(4) & _DIGITS | (spread & _DIGITS) << np.uint64(8)
    letters = values + _SIXES >> np.uint64(4) & _ONES
    return values + _ZEROS + letters * _FROM_COLON_TO_A
