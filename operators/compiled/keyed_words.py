"""The words of many draws in one call; see `operators.randomness` for how they are laid out."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from operators.compiled.blake2b import (
    BLOCK_BYTES,
    BLOCK_WORDS,
    DIGEST_WORDS,
    Bytes,
    absorb,
    absorb_from,
    finish,
    fresh_state,
)
from operators.compiled.compiling import entry_point, part
from operators.equal_parts import EqualParts
from operators.mechanism import Integers, Words

HISTORY_BYTES = 8
_FIXED_BYTES = 64
"""More than lengths, coordinate and block number take."""


@dataclass(frozen=True)
class Absorbed:
    """BLAKE2b after a key and the prefix of a scope. Whoever has it can draw: it is never shown."""

    state: Words = field(repr=False)
    before: int
    rest: Bytes = field(repr=False)

    @classmethod
    def of(cls, key: bytes, prefix: bytes) -> "Absorbed":
        """More bytes must follow."""
        content = key.ljust(BLOCK_BYTES, b"\0") + prefix
        blocks = len(content) // BLOCK_BYTES
        state = fresh_state(len(key))
        absorb(state, np.frombuffer(content[: blocks * BLOCK_BYTES], dtype=np.uint64), blocks)
        return cls(state, blocks * BLOCK_BYTES, _bytes(content[blocks * BLOCK_BYTES :]))


@dataclass(frozen=True)
class Joined:
    """Many strings of bytes as one, and where each of them ends."""

    content: Bytes
    ends: Integers
    longest: int

    @classmethod
    def of(cls, parts: Sequence[bytes]) -> "Joined":
        """In order."""
        if isinstance(parts, EqualParts):
            rows, length = parts.table.shape
            return cls(parts.table.ravel(), np.arange(1, rows + 1) * length, length)
        lengths = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
        return cls(_bytes(b"".join(parts)), lengths.cumsum(), int(lengths.max(initial=0)))


def draw_words(
    prefix: Absorbed,
    keys: Joined,
    positions: Joined,
    purpose: bytes,
    bindings: Joined,
    coordinates: int,
    blocks: int,
) -> Words:
    """`(rows, coordinates, 8 blocks)`; `purpose` is an encoded field."""
    words = np.empty((len(keys.ends), coordinates, DIGEST_WORDS * blocks), dtype=np.uint64)
    _draw_words(
        prefix.state,
        prefix.before,
        prefix.rest,
        keys.content,
        keys.ends,
        positions.content,
        positions.ends,
        _bytes(purpose),
        bindings.content,
        bindings.ends,
        scratch(prefix, keys.longest, positions.longest, len(purpose), bindings.longest),
        words,
    )
    return words


def draw_digests(prefix: Absorbed, contents: Joined) -> Words:
    """`(contents, 8)`: a digest of each, as one encoded field."""
    digests = np.empty((len(contents.ends), DIGEST_WORDS), dtype=np.uint64)
    _draw_digests(
        prefix.state,
        prefix.before,
        prefix.rest,
        contents.content,
        contents.ends,
        scratch(prefix, contents.longest),
        digests,
    )
    return digests


def scratch(prefix: Absorbed, *longest: int) -> Words:
    """Room for a message whose parts are no longer than these."""
    length = len(prefix.rest) + sum(longest) + _FIXED_BYTES
    return np.zeros(length // BLOCK_BYTES * BLOCK_WORDS + BLOCK_WORDS, dtype=np.uint64)


@part
def put_size(text: Bytes, at: int, size: int) -> int:
    """A length, or a block number, in four bytes; where it ends."""
    for place in range(4):
        text[at + place] = (size >> (8 * place)) & 255
    return at + 4


@part
def put_bytes(text: Bytes, at: int, content: Bytes, begin: int, end: int) -> int:
    """A copy of some bytes; where it ends. (Indices without sign are not checked for one.)"""
    target, source = np.uint64(at), np.uint64(begin)
    for place in range(np.uint64(end - begin)):
        text[target + place] = content[source + place]
    return at + end - begin


@part
def put_field(text: Bytes, at: int, content: Bytes, ends: Integers, number: int) -> int:
    """One of several strings, with its length; where it ends."""
    begin = ends[number - 1] if number > 0 else 0
    at = put_size(text, at, ends[number] - begin)
    return put_bytes(text, at, content, begin, ends[number])


@part
def put_coordinate(text: Bytes, at: int, coordinate: int) -> int:
    """An integer field: eight bytes, the highest first; where it ends."""
    at = put_size(text, at, 8)
    for place in range(8):
        text[at + place] = (coordinate >> (56 - 8 * place)) & 255
    return at + 8


@part
def bound_word(
    message: Words,
    word: Words,
    absorbed: Words,
    before: int,
    rest: Bytes,
    keys: Bytes,
    key_ends: Integers,
    positions: Bytes,
    position_ends: Integers,
    position: int,
    purpose: Bytes,
    digests: Bytes,
    digest_bytes: int,
    item: int,
    history: np.uint64,
) -> np.uint64:
    """The first word for a position, bound to one of some digests and to a history.

    `message` begins with `rest` already.
    """
    text = message.view(np.uint8)
    at = put_field(text, len(rest), keys, key_ends, position)
    at = put_field(text, at, positions, position_ends, position)
    at = put_bytes(text, at, purpose, 0, len(purpose))
    at = put_coordinate(text, at, 0)
    at = put_size(text, at, digest_bytes + HISTORY_BYTES)
    at = put_bytes(text, at, digests, digest_bytes * item, digest_bytes * (item + 1))
    for place in range(HISTORY_BYTES):
        text[at + place] = (history >> np.uint64(8 * place)) & np.uint64(255)
    at = put_size(text, at + HISTORY_BYTES, 0)
    for number in range(DIGEST_WORDS):
        word[number] = absorbed[number]
    finish(word, text, message, 0, at, before)
    first: np.uint64 = word[0]
    return first


@entry_point
def _draw_words(
    state: Words,
    before: int,
    rest: Bytes,
    keys: Bytes,
    key_ends: Integers,
    positions: Bytes,
    position_ends: Integers,
    purpose: Bytes,
    bindings: Bytes,
    binding_ends: Integers,
    message: Words,
    words: Words,
) -> None:
    text = message.view(np.uint8)
    rows, coordinates, count = words.shape
    common, drawn = np.empty(DIGEST_WORDS, dtype=np.uint64), np.empty(DIGEST_WORDS, dtype=np.uint64)
    for row in range(rows):
        for coordinate in range(coordinates):
            at = put_bytes(text, 0, rest, 0, len(rest))
            at = put_field(text, at, keys, key_ends, row)
            at = put_field(text, at, positions, position_ends, row)
            at = put_bytes(text, at, purpose, 0, len(purpose))
            at = put_coordinate(text, at, coordinate)
            at = put_field(text, at, bindings, binding_ends, row)
            for word in range(DIGEST_WORDS):
                common[word] = state[word]
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
    rest: Bytes,
    contents: Bytes,
    ends: Integers,
    message: Words,
    digests: Words,
) -> None:
    text = message.view(np.uint8)
    for number in range(len(ends)):
        at = put_bytes(text, 0, rest, 0, len(rest))
        at = put_field(text, at, contents, ends, number)
        digests[number] = state
        finish(digests[number], text, message, 0, at, before)


def _bytes(content: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(content, dtype=np.uint8)
