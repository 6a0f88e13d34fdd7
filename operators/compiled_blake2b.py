"""BLAKE2b with 64-byte digests of several messages at once, one in each lane.

A lane is a part of the processor's vector registers. A message is at once bytes, which are written,
and little-endian words, which are read. It is hashed from a state that has absorbed a key and a
prefix before.

Source: RFC 7693.
"""

from typing import NamedTuple

import numpy as np

from fugu.operators.byte_column import Bytes, bytes_of
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.compiled_blake2b_block import (
    BLOCK_BYTES,
    BLOCK_WORDS,
    DIGEST_WORDS,
    LANES,
    compress,
    fresh_state,
)
from fugu.operators.compiled_bytes import WORD_BYTES, put_word
from fugu.operators.mechanism import Integers, Words

_YES, _NO = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0)


class Lanes(NamedTuple):
    """Hold a message for each lane in an area of its own, and the state of its hash.

    `begins` is the block that comes next and `ends` the byte where the message ends, both counted
    in all of `messages`. Whoever has what messages begin with, or a state before the last block,
    can draw: they are never shown.
    """

    messages: Words
    states: Words
    begins: Integers
    ends: Integers
    firsts: Integers
    counts: Words
    last: Words
    live: Words

    @classmethod
    def of(cls, common: Bytes, state: Words, longest: int) -> "Lanes":
        """Make room for messages that begin with `common` and have at most so many bytes more.

        `state` has absorbed what comes before them.
        """
        blocks = (len(common) + longest + WORD_BYTES) // BLOCK_BYTES + 1
        messages = np.zeros((LANES, blocks * BLOCK_WORDS), dtype=np.uint64)
        messages.view(np.uint8)[:, : len(common)] = common
        states, begins = np.tile(state, LANES), np.arange(LANES) * blocks
        ends, firsts = BLOCK_BYTES * begins + 1, np.zeros(LANES, dtype=np.int64)
        counts, last, live = np.zeros((3, LANES), dtype=np.uint64)
        return cls(messages.ravel(), states, begins, ends, firsts, counts, last, live)

    def __repr__(self) -> str:
        return "Lanes(hidden)"


def absorbed(key: bytes, content: bytes) -> tuple[Words, int]:
    """Return the state after a key and the whole blocks of what follows it, and their bytes.

    More bytes must come.
    """
    content = key.ljust(BLOCK_BYTES, b"\0") + content
    size = len(content) // BLOCK_BYTES * BLOCK_BYTES
    state = fresh_state(len(key))
    lanes = Lanes.of(bytes_of(content[:size]), state, WORD_BYTES)
    lanes.ends[0] = size + 1
    _absorb(lanes)
    return lanes.states[:DIGEST_WORDS].copy(), size


@part
def area_bytes(lanes: Lanes) -> int:
    """Return the size of the area that a lane has for its message."""
    return len(lanes.messages) // LANES * WORD_BYTES


@part
def begin_lanes(lanes: Lanes, state: Words) -> None:
    """Begin a message in each lane, with the state of what was absorbed before it."""
    for lane in range(LANES):
        area = area_bytes(lanes) * lane
        lanes.begins[lane], lanes.ends[lane] = area // BLOCK_BYTES, area + 1
        for word in range(DIGEST_WORDS):
            lanes.states[DIGEST_WORDS * lane + word] = state[word]


@part
def absorb_lanes(lanes: Lanes, before: int) -> None:
    """Absorb what comes before the last block of each message, which may still change.

    `before` bytes were absorbed before the message.
    """
    _advance(lanes, before, 0)
    for lane in range(LANES):
        lanes.begins[lane] = (lanes.ends[lane] - 1) // BLOCK_BYTES


@part
def finish_lanes(lanes: Lanes, there: int, text: Bytes, before: int) -> None:
    """Absorb the messages of the first lanes to their ends: their states are digests then.

    `text` is `messages` as bytes.
    """
    for lane in range(there):
        end = lanes.ends[lane]
        put_word(text, end, _NO)
        of_block = (end - 1) // BLOCK_BYTES * BLOCK_WORDS
        for word in range(np.uint64(end // WORD_BYTES + 1), np.uint64(of_block + BLOCK_WORDS)):
            lanes.messages[word] = _NO
    _advance(lanes, before, 1)


@part
def write_digests(lanes: Lanes, there: int, digests: Words, first: int) -> None:
    """Write what the first lanes end with into rows of digests, as many words as these have."""
    for lane in range(there):
        for word in range(digests.shape[1]):
            digests[first + lane, word] = lanes.states[DIGEST_WORDS * lane + word]


@part
def _advance(lanes: Lanes, before: int, with_last: int) -> None:
    """Absorb a block of each lane until all are at their last one, or past it."""
    steps = 0
    for lane in range(LANES):
        last = (lanes.ends[lane] - 1) // BLOCK_BYTES
        steps = max(steps, last + with_last - lanes.begins[lane])
    for step in range(steps):
        for lane in range(LANES):
            end, block = lanes.ends[lane], lanes.begins[lane] + step
            last, area = (end - 1) // BLOCK_BYTES, area_bytes(lanes) * lane
            lanes.live[lane] = _YES if block < last + with_last else _NO
            lanes.last[lane] = _YES if block == last else _NO
            lanes.counts[lane] = np.uint64(before + min((block + 1) * BLOCK_BYTES, end) - area)
            lanes.firsts[lane] = min(block, last) * BLOCK_WORDS
        compress(lanes.messages, lanes.firsts, lanes.counts, lanes.last, lanes.live, lanes.states)


@entry_point
def _absorb(lanes: Lanes) -> None:
    absorb_lanes(lanes, 0)
