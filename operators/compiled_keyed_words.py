"""The words of many draws in one call; see `operators.randomness` for how they are laid out."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fugu.operators.byte_column import ByteColumn, Bytes, bytes_of
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.compiled_blake2b import (
    Lanes,
    absorb_lanes,
    absorbed,
    area_bytes,
    begin_lanes,
    finish_lanes,
    write_digests,
)
from fugu.operators.compiled_blake2b_block import BLOCK_BYTES, DIGEST_WORDS, LANES
from fugu.operators.compiled_bytes import WORD_BYTES, put_bytes, put_number, put_size, put_word
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
