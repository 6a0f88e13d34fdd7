"""BLAKE2b with digests of at most 64 bytes, from a state that may have absorbed a key before.

Written for numba: all integers are 64 bits without sign, and a message is at once bytes, which are
written, and little-endian words, which are read.

Source: RFC 7693.
"""

import numpy as np

from fugu.operators.byte_column import Bytes
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.mechanism import Words

BLOCK_BYTES = 128
BLOCK_WORDS = 16
DIGEST_WORDS = 8

_IV = np.array(
    [
        0x6A09E667F3BCC908,
        0xBB67AE8584CAA73B,
        0x3C6EF372FE94F82B,
        0xA54FF53A5F1D36F1,
        0x510E527FADE682D1,
        0x9B05688C2B3E6C1F,
        0x1F83D9ABFB41BD6B,
        0x5BE0CD19137E2179,
    ],
    dtype=np.uint64,
)
_Sixteen = tuple[np.uint64, ...]
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


def fresh_state(key_bytes: int, digest_bytes: int = 8 * DIGEST_WORDS) -> Words:
    """Return the state before the first block, for a key and a digest of so many bytes."""
    state = _IV.copy()
    state[0] ^= np.uint64(0x01010000 ^ key_bytes << 8 ^ digest_bytes)
    return state


@part
def _mixed(
    a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64, x: np.uint64, y: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    a = a + b + x
    d = d ^ a
    d = (d >> np.uint64(32)) | (d << np.uint64(32))
    c = c + d
    b = b ^ c
    b = (b >> np.uint64(24)) | (b << np.uint64(40))
    a = a + b + y
    d = d ^ a
    d = (d >> np.uint64(16)) | (d << np.uint64(48))
    c = c + d
    b = b ^ c
    b = (b >> np.uint64(63)) | (b << np.uint64(1))
    return a, b, c, d


@part
def _round(work: _Sixteen, message: _Sixteen) -> _Sixteen:
    m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15 = message
    a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3 = work
    a0, b0, c0, d0 = _mixed(a0, b0, c0, d0, m0, m1)
    a1, b1, c1, d1 = _mixed(a1, b1, c1, d1, m2, m3)
    a2, b2, c2, d2 = _mixed(a2, b2, c2, d2, m4, m5)
    a3, b3, c3, d3 = _mixed(a3, b3, c3, d3, m6, m7)
    a0, b1, c2, d3 = _mixed(a0, b1, c2, d3, m8, m9)
    a1, b2, c3, d0 = _mixed(a1, b2, c3, d0, m10, m11)
    a2, b3, c0, d1 = _mixed(a2, b3, c0, d1, m12, m13)
    a3, b0, c1, d2 = _mixed(a3, b0, c1, d2, m14, m15)
    return a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3


@part
def compress(state: Words, message: Words, first: int, absorbed: int, is_last: bool) -> None:
    """Absorb the block of `message` that begins at word `first`; `absorbed` counts its bytes
    too.

    Everything is written out, so that all of it can stay in registers.
    """
    at = np.uint64(first)
    m0, m1 = message[at + np.uint64(0)], message[at + np.uint64(1)]
    m2, m3 = message[at + np.uint64(2)], message[at + np.uint64(3)]
    m4, m5 = message[at + np.uint64(4)], message[at + np.uint64(5)]
    m6, m7 = message[at + np.uint64(6)], message[at + np.uint64(7)]
    m8, m9 = message[at + np.uint64(8)], message[at + np.uint64(9)]
    m10, m11 = message[at + np.uint64(10)], message[at + np.uint64(11)]
    m12, m13 = message[at + np.uint64(12)], message[at + np.uint64(13)]
    m14, m15 = message[at + np.uint64(14)], message[at + np.uint64(15)]
    counted = _IV[4] ^ np.uint64(absorbed)
    ended = _IV[6] ^ _ALL if is_last else _IV[6]
    old = (state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7])
    work: _Sixteen = (*old, _IV[0], _IV[1], _IV[2], _IV[3], counted, _IV[5], ended, _IV[7])
    work = _round(work, (m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15))
    work = _round(work, (m14, m10, m4, m8, m9, m15, m13, m6, m1, m12, m0, m2, m11, m7, m5, m3))
    work = _round(work, (m11, m8, m12, m0, m5, m2, m15, m13, m10, m14, m3, m6, m7, m1, m9, m4))
    work = _round(work, (m7, m9, m3, m1, m13, m12, m11, m14, m2, m6, m5, m10, m4, m0, m15, m8))
    work = _round(work, (m9, m0, m5, m7, m2, m4, m10, m15, m14, m1, m11, m12, m6, m8, m3, m13))
    work = _round(work, (m2, m12, m6, m10, m0, m11, m8, m3, m4, m13, m7, m5, m15, m14, m1, m9))
    work = _round(work, (m12, m5, m1, m15, m14, m13, m4, m10, m0, m7, m6, m3, m9, m2, m8, m11))
    work = _round(work, (m13, m11, m7, m14, m12, m1, m3, m9, m5, m0, m15, m4, m8, m6, m2, m10))
    work = _round(work, (m6, m15, m14, m9, m11, m3, m0, m8, m12, m2, m13, m7, m1, m4, m10, m5))
    work = _round(work, (m10, m2, m8, m4, m7, m6, m1, m5, m15, m11, m9, m14, m3, m12, m13, m0))
    work = _round(work, (m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15))
    work = _round(work, (m14, m10, m4, m8, m9, m15, m13, m6, m1, m12, m0, m2, m11, m7, m5, m3))
    for word in range(8):
        state[word] = old[word] ^ work[word] ^ work[word + 8]


@part
def absorb_from(state: Words, message: Words, first_block: int, until: int, before: int) -> int:
    """Absorb whole blocks that end before byte `until`, of which the last one is never part. Return
    the number of the block that follows. `before` bytes were absorbed before the message."""
    block = first_block
    while (block + 1) * BLOCK_BYTES < until:
        compress(state, message, block * BLOCK_WORDS, before + (block + 1) * BLOCK_BYTES, False)
        block += 1
    return block


@part
def finish(
    state: Words, text: Bytes, message: Words, first_block: int, length: int, before: int
) -> None:
    """Absorb what is left of a message of `length` bytes; `state` is the digest then."""
    block = absorb_from(state, message, first_block, length, before)
    for unused in range(length, (block + 1) * BLOCK_BYTES):
        text[unused] = 0
    compress(state, message, block * BLOCK_WORDS, before + length, True)


@entry_point
def absorb(state: Words, message: Words, blocks: int) -> None:
    """Absorb the first blocks of a message that goes on after them."""
    for block in range(blocks):
        compress(state, message, block * BLOCK_WORDS, (block + 1) * BLOCK_BYTES, False)
