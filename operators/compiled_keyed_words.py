"""Compute the words of many draws, and the names and digests of many keys, in one call."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fugu.operators.columns import ByteColumn, Bytes, bytes_of, encode_rows, table_of_integers
from fugu.operators.compiled.compiling import entry_point, part, read_only
from fugu.operators.compiled_blake2b import (
    BLOCK_BYTES,
    DIGEST_WORDS,
    LANES,
    WORD_BYTES,
    Lanes,
    absorb_lanes,
    absorbed,
    area_bytes,
    begin_lanes,
    finish_lanes,
    fresh_state,
    put_bytes,
    put_number,
    put_size,
    put_word,
    write_digests,
)
from fugu.operators.mechanism import Integers, Words

HISTORY_BYTES = 8
_NUMBER_BYTES = 4
_FIXED_BYTES = 64
"""More than lengths, coordinate and block number take."""


@dataclass(frozen=True)
class Absorbed:
    """Hold BLAKE2b after a key and the prefix of a scope. It can draw, so it is never shown."""

    state: Words = field(repr=False)
    before: int
    rest: Bytes = field(repr=False)

    @classmethod
    def of(cls, key: bytes, prefix: bytes) -> "Absorbed":
        """Absorb whole blocks of key and prefix; more bytes must follow."""
        state, before = absorbed(key, prefix)
        return cls(state, before, bytes_of(prefix[before - BLOCK_BYTES :]))


class DrawColumns(NamedTuple):
    """Hold the columns that the draws of many rows are made of, and room for a few draws.

    Messages begin with what is common to all: `begin` bytes that a prefix left over. Whoever has it
    can draw: it is never shown.
    """

    absorbed: Words
    before: int
    begin: int
    keys: Bytes
    key_begins: Integers
    key_lengths: Integers
    positions: Bytes
    position_begins: Integers
    position_lengths: Integers
    lanes: Lanes

    @classmethod
    def of(
        cls, prefix: Absorbed, keys: ByteColumn, positions: ByteColumn, *longest: int
    ) -> "DrawColumns":
        """Make columns for rows of keys and positions, and room for more parts of these lengths."""
        more = keys.longest + positions.longest + sum(longest) + _FIXED_BYTES
        lanes = Lanes.of(prefix.rest, prefix.state, more)
        return cls(
            prefix.state,
            prefix.before,
            len(prefix.rest),
            keys.content,
            keys.begins,
            keys.lengths,
            positions.content,
            positions.begins,
            positions.lengths,
            lanes,
        )

    def __repr__(self) -> str:
        return "DrawColumns(hidden)"


def draw_words(
    prefix: Absorbed,
    keys: ByteColumn,
    positions: ByteColumn,
    purpose: bytes,
    bindings: ByteColumn,
    coordinates: int,
    blocks: int,
) -> Words:
    """Return words `(rows, coordinates, 8 blocks)`; `purpose` is an encoded field."""
    words = np.empty((len(keys), coordinates, DIGEST_WORDS * blocks), dtype=np.uint64)
    columns = DrawColumns.of(prefix, keys, positions, len(purpose), bindings.longest)
    common = np.empty(LANES * DIGEST_WORDS, dtype=np.uint64)
    bound = bindings.content, bindings.begins, bindings.lengths
    _draw_words(columns, bytes_of(purpose), *bound, common, words)
    return words


def draw_digests(prefix: Absorbed, contents: ByteColumn, tails: ByteColumn) -> Words:
    """Return digests `(contents, 8)`, of each content as one encoded field and of its tail, which
    is encoded already."""
    digests = np.empty((len(contents), DIGEST_WORDS), dtype=np.uint64)
    longest = contents.longest + tails.longest + _FIXED_BYTES
    lanes = Lanes.of(prefix.rest, prefix.state, longest)
    before, begin = prefix.before, len(prefix.rest)
    columns = contents.content, contents.begins, contents.lengths
    behind = tails.content, tails.begins, tails.lengths
    _draw_digests(prefix.state, before, begin, *columns, *behind, lanes, digests)
    return digests


@part
def put_field(
    text: Bytes, at: int, content: Bytes, begins: Integers, lengths: Integers, number: int
) -> int:
    """Write one of several strings with its length; return where it ends."""
    begin, length = begins[number], lengths[number]
    at = put_size(text, at, length)
    return put_bytes(text, at, content, begin, begin + length)


@part
def put_place(columns: DrawColumns, lane: int, row: int, purpose: Bytes, coordinate: int) -> int:
    """Write everything that comes before the binding of a draw; return where it ends."""
    text = columns.lanes.messages.view(np.uint8)
    at = area_bytes(columns.lanes) * lane + columns.begin
    at = put_field(text, at, columns.keys, columns.key_begins, columns.key_lengths, row)
    positions = columns.positions, columns.position_begins, columns.position_lengths
    at = put_field(text, at, *positions, row)
    at = put_bytes(text, at, purpose, 0, len(purpose))
    return put_number(text, put_size(text, at, WORD_BYTES), coordinate)


@part
def put_bound(
    columns: DrawColumns,
    lane: int,
    row: int,
    purpose: Bytes,
    digests: Bytes,
    digest_bytes: int,
    item: int,
    history: np.uint64,
) -> None:
    """Write the message of the first block of a row's words, bound to one of some digests and to a
    history."""
    text = columns.lanes.messages.view(np.uint8)
    at = put_place(columns, lane, row, purpose, 0)
    at = put_size(text, at, digest_bytes + HISTORY_BYTES)
    at = put_bytes(text, at, digests, digest_bytes * item, digest_bytes * (item + 1))
    put_word(text, at, history)
    columns.lanes.ends[lane] = put_size(text, at + HISTORY_BYTES, 0)


@part
def draw_bound(columns: DrawColumns, there: int, words: Words) -> None:
    """Write the first word of each message that `put_bound` wrote, and make room for others."""
    lanes = columns.lanes
    finish_lanes(lanes, there, lanes.messages.view(np.uint8), columns.before)
    for lane in range(there):
        words[lane] = lanes.states[DIGEST_WORDS * lane]
    begin_lanes(lanes, columns.absorbed)


@part
def put_block(columns: DrawColumns, lane: int, block: int) -> None:
    """Ask for another block of words of the message that `put_bound` wrote."""
    text = columns.lanes.messages.view(np.uint8)
    columns.lanes.ends[lane] = put_size(text, columns.lanes.ends[lane] - _NUMBER_BYTES, block)


@part
def draw_blocks(columns: DrawColumns, there: int, words: Words) -> None:
    """Write all words of the block of each message, and make room for others."""
    lanes = columns.lanes
    finish_lanes(lanes, there, lanes.messages.view(np.uint8), columns.before)
    write_digests(lanes, there, words, 0)
    begin_lanes(lanes, columns.absorbed)


@entry_point
def _draw_words(
    columns: DrawColumns,
    purpose: Bytes,
    bindings: Bytes,
    binding_begins: Integers,
    binding_lengths: Integers,
    common: Words,
    words: Words,
) -> None:
    lanes, before = columns.lanes, columns.before
    text, states = lanes.messages.view(np.uint8), LANES * DIGEST_WORDS
    rows, coordinates, count = words.shape
    for first in range(0, rows * coordinates, LANES):
        begin_lanes(lanes, columns.absorbed)
        there = min(LANES, rows * coordinates - first)
        for lane in range(there):
            row, coordinate = divmod(first + lane, coordinates)
            at = put_place(columns, lane, row, purpose, coordinate)
            at = put_field(text, at, bindings, binding_begins, binding_lengths, row)
            lanes.ends[lane] = at
        absorb_lanes(lanes, before)
        for word in range(states):
            common[word] = lanes.states[word]
        for block in range(count // DIGEST_WORDS):
            for word in range(states):
                lanes.states[word] = common[word]
            for lane in range(there):
                lanes.ends[lane] = put_size(text, lanes.ends[lane], block)
            finish_lanes(lanes, there, text, before)
            for lane in range(there):
                lanes.ends[lane] -= _NUMBER_BYTES
                row, coordinate = divmod(first + lane, coordinates)
                for word in range(DIGEST_WORDS):
                    drawn = lanes.states[DIGEST_WORDS * lane + word]
                    words[row, coordinate, DIGEST_WORDS * block + word] = drawn


@entry_point
def _draw_digests(
    state: Words,
    before: int,
    begin: int,
    contents: Bytes,
    begins: Integers,
    lengths: Integers,
    tails: Bytes,
    tail_begins: Integers,
    tail_lengths: Integers,
    lanes: Lanes,
    digests: Words,
) -> None:
    text = lanes.messages.view(np.uint8)
    for first in range(0, len(begins), LANES):
        begin_lanes(lanes, state)
        there = min(LANES, len(begins) - first)
        for lane in range(there):
            at = area_bytes(lanes) * lane + begin
            row = first + lane
            at = put_field(text, at, contents, begins, lengths, row)
            tail = tail_begins[row]
            lanes.ends[lane] = put_bytes(text, at, tails, tail, tail + tail_lengths[row])
        finish_lanes(lanes, there, text, before)
        write_digests(lanes, there, digests, first)


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


def compiled_digests(contents: ByteColumn, digest_bytes: int) -> Bytes:
    """Return digests `(contents, digest_bytes)`; none of the contents is empty."""
    digests = np.empty((len(contents), digest_bytes // WORD_BYTES), dtype=np.uint64)
    state = fresh_state(0, digest_bytes)
    lanes = Lanes.of(np.empty(0, dtype=np.uint8), state, contents.longest)
    _digest(state, contents.content, contents.begins, contents.lengths, lanes, digests)
    return digests.view(np.uint8)


@entry_point
def _digest(
    state: Words,
    contents: Bytes,
    begins: Integers,
    lengths: Integers,
    lanes: Lanes,
    digests: Words,
) -> None:
    text = lanes.messages.view(np.uint8)
    for first in range(0, len(begins), LANES):
        begin_lanes(lanes, state)
        there = min(LANES, len(begins) - first)
        for lane in range(there):
            begin, length = begins[first + lane], lengths[first + lane]
            at = area_bytes(lanes) * lane
            lanes.ends[lane] = put_bytes(text, at, contents, begin, begin + length)
        finish_lanes(lanes, there, text, 0)
        write_digests(lanes, there, digests, first)
