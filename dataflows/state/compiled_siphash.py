"""Hash bytes by SipHash-1-3, compiled: who does not know the key cannot make keys that collide.

Source: https://www.aumasson.jp/siphash/siphash.pdf, with one round a word and three at the end, as
Python hashes its own strings.
"""

import numpy as np

from fugu.operators.columns import Bytes
from fugu.operators.compiled.compiling import inlined, part

_Four = tuple[np.uint64, np.uint64, np.uint64, np.uint64]

WORD_BYTES = 8
_0, _1, _2, _3 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
_4, _5, _6, _7, _8 = np.uint64(4), np.uint64(5), np.uint64(6), np.uint64(7), np.uint64(8)
_FIRST = np.uint64(0x736F6D6570736575)
_SECOND = np.uint64(0x646F72616E646F6D)
_THIRD = np.uint64(0x6C7967656E657261)
_FOURTH = np.uint64(0x7465646279746573)
_LAST = np.uint64(0xFF)


@inlined
def word_at(content: Bytes, at: np.uint64) -> np.uint64:
    """Return the eight bytes from a place on as a word, the lowest first: one instruction."""
    return (
        np.uint64(content[at])
        | np.uint64(content[at + _1]) << np.uint64(8)
        | np.uint64(content[at + _2]) << np.uint64(16)
        | np.uint64(content[at + _3]) << np.uint64(24)
        | np.uint64(content[at + _4]) << np.uint64(32)
        | np.uint64(content[at + _5]) << np.uint64(40)
        | np.uint64(content[at + _6]) << np.uint64(48)
        | np.uint64(content[at + _7]) << np.uint64(56)
    )


@part
def sip_hash(
    first: np.uint64, second: np.uint64, content: Bytes, begin: int, length: int
) -> np.uint64:
    """Return the hash of some bytes, by a key of two words."""
    work = first ^ _FIRST, second ^ _SECOND, first ^ _THIRD, second ^ _FOURTH
    at, left = np.uint64(begin), np.uint64(length)
    last = (left & _LAST) << np.uint64(56)
    while left >= _8:
        work = _absorbed(work, word_at(content, at))
        at, left = at + _8, left - _8
    shift = _0
    while left > _0:
        last |= np.uint64(content[at]) << shift
        at, left, shift = at + _1, left - _1, shift + _8
    a, b, c, d = _absorbed(work, last)
    a, b, c, d = _round(_round(_round((a, b, c ^ _LAST, d))))
    return a ^ b ^ c ^ d


@part
def _absorbed(work: _Four, word: np.uint64) -> _Four:
    a, b, c, d = _round((work[0], work[1], work[2], work[3] ^ word))
    return a ^ word, b, c, d


@part
def _round(work: _Four) -> _Four:
    a, b, c, d = work
    a = a + b
    b = (b << np.uint64(13) | b >> np.uint64(51)) ^ a
    a = a << np.uint64(32) | a >> np.uint64(32)
    c = c + d
    d = (d << np.uint64(16) | d >> np.uint64(48)) ^ c
    a = a + d
    d = (d << np.uint64(21) | d >> np.uint64(43)) ^ a
    c = c + b
    b = (b << np.uint64(17) | b >> np.uint64(47)) ^ c
    c = c << np.uint64(32) | c >> np.uint64(32)
    return a, b, c, d
