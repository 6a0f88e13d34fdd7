"""Compute digests of event ids, as `event_digest` does."""

import numpy as np

from fugu.dataflows.records.scanned.compiled_numerals import INTEGER
from fugu.dataflows.records.scanned.compiled_objects import TEXT, Flags
from fugu.operators.byte_column import Bytes
from fugu.operators.compiled.compiling import entry_point
from fugu.operators.compiled_blake2b import DIGEST_WORDS, finish
from fugu.operators.compiled_keyed_words import put_bytes
from fugu.operators.mechanism import Integers, Words

_PREFIXES = np.frombuffer(b"str:int:", dtype=np.uint8)
PREFIX_BYTES = 4
_MIDDLE = 4


@entry_point
def read_events(
    content: Bytes,
    kinds: Bytes,
    begins: Integers,
    ends: Integers,
    sure: Flags,
    fresh: Words,
    message: Words,
    state: Words,
    digests: Words,
) -> None:
    """Write the digest of the event of each record that is shorter than `message` has room for.

    `fresh` is the state of BLAKE2b before its first block.
    """
    text = message.view(np.uint8)
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
            if end - begin > len(text) - PREFIX_BYTES:
                sure[row] = False
                continue
            put_bytes(text, 0, _PREFIXES, at, at + PREFIX_BYTES)
            length = put_bytes(text, PREFIX_BYTES, content, begin, end)
            for word in range(DIGEST_WORDS):
                state[word] = fresh[word]
            finish(state, text, message, 0, length, 0)
            digests[row] = max(state[0], np.uint64(1))
