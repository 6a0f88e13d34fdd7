"""The words of many draws in one call; see `operators.randomness` for how they are laid out."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fugu.operators.byte_column import ByteColumn, Bytes, bytes_of
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.compiled_blake2b import (
    BLOCK_BYTES,
    BLOCK_WORDS,
    DIGEST_WORDS,
    absorb,
    absorb_from,
    finish,
    fresh_state,
)
from fugu.operators.mechanism import Integers, Words

HISTORY_BYTES = 8
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
        content = key.ljust(BLOCK_BYTES, b"\0") + prefix
        blocks = len(content) // BLOCK_BYTES
        state = fresh_state(len(key))
        absorb(state, np.frombuffer(content[: blocks * BLOCK_BYTES], dtype=np.uint64), blocks)
        return cls(state, blocks * BLOCK_BYTES, bytes_of(content[blocks * BLOCK_BYTES :]))


class DrawColumns(NamedTuple):
    """Hold the columns that the draws of many rows are made of, and room for one draw.

    `message` begins with what is common to all: `begin` bytes that a prefix left over. Whoever has
    it can draw: it is never shown.
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
    message: Words
    word: Words

    @classmethod
    def of(
        cls, prefix: Absorbed, keys: ByteColumn, positions: ByteColumn, *longest: int
    ) -> "DrawColumns":
        """Make columns for rows of keys and positions, and room for more parts of these lengths."""
        message = _message(prefix, keys.longest, positions.longest, *longest)
        word = np.empty(DIGEST_WORDS, dtype=np.uint64)
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
            message,
            word,
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
    common = np.empty(DIGEST_WORDS, dtype=np.uint64)
    bound = bindings.content, bindings.begins, bindings.lengths
    _draw_words(columns, bytes_of(purpose), *bound, common, words)
    return words


def draw_digests(prefix: Absorbed, contents: ByteColumn) -> Words:
    """Return digests `(contents, 8)`, of each content as one encoded field."""
    digests = np.empty((len(contents), DIGEST_WORDS), dtype=np.uint64)
    message = _message(prefix, contents.longest)
    before, begin = prefix.before, len(prefix.rest)
    columns = contents.content, contents.begins, contents.lengths
    _draw_digests(prefix.state, before, begin, *columns, message, digests)
    return digests


def _message(prefix: Absorbed, *longest: int) -> Words:
    """Make room for a message with parts of these lengths, behind the rest of the prefix."""
    begin = len(prefix.rest)
    blocks = (begin + sum(longest) + _FIXED_BYTES) // BLOCK_BYTES + 1
    message = np.zeros(blocks * BLOCK_WORDS, dtype=np.uint64)
    message.view(np.uint8)[:begin] = prefix.rest
    return message


@part
def put_size(text: Bytes, at: int, size: int) -> int:
    """Write a length, or a block number, in four bytes; return where it ends."""
    for place in range(4):
        text[at + place] = (size >> (8 * place)) & 255
    return at + 4


@part
def put_bytes(text: Bytes, at: int, content: Bytes, begin: int, end: int) -> int:
    """Copy some bytes; return where the copy ends. (Indices without sign are not checked.)"""
    target, source = np.uint64(at), np.uint64(begin)
    for place in range(np.uint64(end - begin)):
        text[target + place] = content[source + place]
    return at + end - begin


@part
def put_field(
    text: Bytes, at: int, content: Bytes, begins: Integers, lengths: Integers, number: int
) -> int:
    """Write one of several strings with its length; return where it ends."""
    begin, length = begins[number], lengths[number]
    at = put_size(text, at, length)
    return put_bytes(text, at, content, begin, begin + length)


@part
def put_coordinate(text: Bytes, at: int, coordinate: int) -> int:
    """Write an integer field, eight bytes with the highest first; return where it ends."""
    at = put_size(text, at, 8)
    for place in range(8):
        text[at + place] = (coordinate >> (56 - 8 * place)) & 255
    return at + 8


@part
def _put_place(columns: DrawColumns, row: int, purpose: Bytes, coordinate: int) -> int:
    """Write everything that comes before the binding of a draw; return where it ends."""
    text = columns.message.view(np.uint8)
    at = put_field(text, columns.begin, columns.keys, columns.key_begins, columns.key_lengths, row)
    positions = columns.positions, columns.position_begins, columns.position_lengths
    at = put_field(text, at, *positions, row)
    at = put_bytes(text, at, purpose, 0, len(purpose))
    return put_coordinate(text, at, coordinate)


@part
def bound_word(
    columns: DrawColumns,
    row: int,
    purpose: Bytes,
    digests: Bytes,
    digest_bytes: int,
    item: int,
    history: np.uint64,
) -> np.uint64:
    """Return the first word of a row, bound to one of some digests and to a history."""
    text, word = columns.message.view(np.uint8), columns.word
    at = _put_place(columns, row, purpose, 0)
    at = put_size(text, at, digest_bytes + HISTORY_BYTES)
    at = put_bytes(text, at, digests, digest_bytes * item, digest_bytes * (item + 1))
    for place in range(HISTORY_BYTES):
        text[at + place] = (history >> np.uint64(8 * place)) & np.uint64(255)
    at = put_size(text, at + HISTORY_BYTES, 0)
    for number in range(DIGEST_WORDS):
        word[number] = columns.absorbed[number]
    finish(word, text, columns.message, 0, at, columns.before)
    first: np.uint64 = word[0]
    return first


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
    message, drawn, before = columns.message, columns.word, columns.before
    text = message.view(np.uint8)
    rows, coordinates, count = words.shape
    for row in range(rows):
        for coordinate in range(coordinates):
            at = _put_place(columns, row, purpose, coordinate)
            at = put_field(text, at, bindings, binding_begins, binding_lengths, row)
            for word in range(DIGEST_WORDS):
                common[word] = columns.absorbed[word]
            done = absorb_from(common, message, 0, at, before)
            for block in range(count // DIGEST_WORDS):
                length = put_size(text, at, block)
                for word in range(DIGEST_WORDS):
                    drawn[word] = common[word]
                finish(drawn, text, message, done, length, before)
                for word in range(DIGEST_WORDS):
                    words[row, coordinate, DIGEST_WORDS * block + word] = drawn[word]


@entry_point
def _draw_digests(
    state: Words,
    before: int,
    begin: int,
    contents: Bytes,
    begins: Integers,
    lengths: Integers,
    message: Words,
    digests: Words,
) -> None:
    text = message.view(np.uint8)
    for number in range(len(begins)):
        at = put_field(text, begin, contents, begins, lengths, number)
        for word in range(DIGEST_WORDS):
            digests[number, word] = state[word]
        finish(digests[number], text, message, 0, at, before)
