"""Compute digests of event ids, as `event_digest` does."""

import numpy as np

from fugu.dataflows.records.scanned.compiled_numerals import INTEGER
from fugu.dataflows.records.scanned.compiled_objects import TEXT, Flags
from fugu.operators.byte_column import Bytes
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.compiled_blake2b import Lanes, area_bytes, begin_lanes, finish_lanes
from fugu.operators.compiled_blake2b_block import DIGEST_WORDS, LANES
from fugu.operators.compiled_bytes import put_bytes
from fugu.operators.mechanism import Integers, Words

_PREFIXES = np.frombuffer(b"str:int:", dtype=np.uint8)
PREFIX_BYTES = 4
LONGEST_EVENT_BYTES = 1_000
"""Longer ones are digested by `event_digest`."""
_MIDDLE = 4


@part
def _write_digests(
    lanes: Lanes, text: Bytes, there: int, waiting: Integers, digests: Words
) -> None:
    finish_lanes(lanes, there, text, 0)
    for lane in range(there):
        digests[waiting[lane]] = max(lanes.states[DIGEST_WORDS * lane], np.uint64(1))


@entry_point
def read_events(
    content: Bytes,
    kinds: Bytes,
    begins: Integers,
    ends: Integers,
    sure: Flags,
    fresh: Words,
    lanes: Lanes,
    waiting: Integers,
    digests: Words,
) -> None:
    """Write the digest of the event of each record that is shorter than a lane has room for.

    `fresh` is the state of BLAKE2b before its first block; `waiting` holds the row of each lane.
    """
    text, area = lanes.messages.view(np.uint8), area_bytes(lanes)
    lane = 0
    begin_lanes(lanes, fresh)
    for row in range(len(digests)):
        if sure[row]:
            begin, end = begins[row], ends[row]
            if kinds[row] == TEXT:
                at, begin, end = 0, begin + 1, end - 1
            elif kinds[row] == INTEGER:
                at = _MIDDLE
            else:
                sure[row] = False
                continue
            if end - begin > LONGEST_EVENT_BYTES:
                sure[row] = False
                continue
            place = put_bytes(text, area * lane, _PREFIXES, at, at + PREFIX_BYTES)
            lanes.ends[lane] = put_bytes(text, place, content, begin, end)
            waiting[lane] = row
            lane += 1
            if lane == LANES:
                _write_digests(lanes, text, lane, waiting, digests)
                begin_lanes(lanes, fresh)
                lane = 0
    if lane:
        _write_digests(lanes, text, lane, waiting, digests)
