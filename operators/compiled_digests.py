"""Digests of many strings in one call, without a key."""

import numpy as np

from fugu.operators.byte_column import ByteColumn, Bytes
from fugu.operators.compiled.compiling import entry_point
from fugu.operators.compiled_blake2b import (
    Lanes,
    area_bytes,
    begin_lanes,
    finish_lanes,
    write_digests,
)
from fugu.operators.compiled_blake2b_block import LANES, fresh_state
from fugu.operators.compiled_bytes import WORD_BYTES, put_bytes
from fugu.operators.mechanism import Integers, Words


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
