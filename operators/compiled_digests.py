"""Digests of 32 bytes, without a key, of many strings in one call."""

import numpy as np

from fugu.operators.byte_column import ByteColumn, Bytes
from fugu.operators.byte_fields import DIGEST_BYTES
from fugu.operators.compiled.compiling import entry_point
from fugu.operators.compiled_blake2b import Lanes, area_bytes, begin_lanes, finish_lanes
from fugu.operators.compiled_blake2b_block import DIGEST_WORDS, LANES, fresh_state
from fugu.operators.compiled_bytes import WORD_BYTES, put_bytes
from fugu.operators.mechanism import Integers, Words

_WORDS = DIGEST_BYTES // WORD_BYTES


def compiled_digests(contents: ByteColumn) -> Bytes:
    """Return digests `(contents, 32)`; none of the contents is empty."""
    digests = np.empty((len(contents), _WORDS), dtype=np.uint64)
    state = fresh_state(0, DIGEST_BYTES)
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
        for lane in range(there):
            for word in range(_WORDS):
                digests[first + lane, word] = lanes.states[DIGEST_WORDS * lane + word]
