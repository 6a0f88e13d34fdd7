"""Compute BLAKE2b with 64-byte digests of several messages at once, one in each lane."""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils

from fugu.operators.columns import Bytes, bytes_of
from fugu.operators.compiled.compiling import entry_point, in_llvm, part
from fugu.operators.mechanism import Integers, Words

# Whoever calls sees to it that all places are inside the arrays: a number may be followed by up to
# four bytes that are written too.

WORD_BYTES = 8
_WORD: Any = ir.IntType(64)


@in_llvm
def word_at(context: Any, text: Any, at: Any) -> Any:
    """Read the eight bytes that begin anywhere, the lowest first."""

    def written(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        there = _place(target, builder, signature, arguments)
        return builder.load(there, align=1)

    return types.uint64(text, types.int64), written


@in_llvm
def put_word(context: Any, text: Any, at: Any, word: Any) -> Any:
    """Write eight bytes that begin anywhere, the lowest first."""

    def written(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _place(target, builder, signature, arguments), align=1)
        return target.get_dummy_value()

    return types.void(text, types.int64, types.uint64), written


def _place(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    content = target.make_array(signature.args[0])(target, builder, arguments[0]).data
    return builder.bitcast(builder.gep(content, [arguments[1]]), _WORD.as_pointer())


@part
def put_size(text: Bytes, at: int, size: int) -> int:
    """Write a length, or a block number, in four bytes; return where it ends."""
    put_word(text, at, np.uint64(size))
    return at + 4


@part
def put_bytes(text: Bytes, at: int, content: Bytes, begin: int, end: int) -> int:
    """Copy some bytes; return where the copy ends."""
    length = end - begin
    if length >= WORD_BYTES:
        for place in range(0, length - WORD_BYTES, WORD_BYTES):
            put_word(text, at + place, word_at(content, begin + place))
        put_word(text, at + length - WORD_BYTES, word_at(content, end - WORD_BYTES))
    else:
        for place in range(length):
            text[at + place] = content[begin + place]
    return at + length


@part
def put_number(text: Bytes, at: int, number: int) -> int:
    """Write eight bytes, the highest first; return where they end."""
    word, reversed_word = np.uint64(number), np.uint64(0)
    for place in range(WORD_BYTES):
        byte = (word >> np.uint64(8 * place)) & np.uint64(255)
        reversed_word |= byte << np.uint64(56 - 8 * place)
    put_word(text, at, reversed_word)
    return at + WORD_BYTES


BLOCK_BYTES = 128
BLOCK_WORDS = 16
DIGEST_WORDS = 8
LANES = 4

_IV = (
    0x6A09E667F3BCC908,
    0xBB67AE8584CAA73B,
    0x3C6EF372FE94F82B,
    0xA54FF53A5F1D36F1,
    0x510E527FADE682D1,
    0x9B05688C2B3E6C1F,
    0x1F83D9ABFB41BD6B,
    0x5BE0CD19137E2179,
)
_ORDERS = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3),
    (11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4),
    (7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8),
    (9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13),
    (2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9),
    (12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11),
    (13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10),
    (6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5),
    (10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0),
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3),
)
"""The order in which each round takes the words of a block."""
_COLUMNS = (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)
_DIAGONALS = (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)
_COUNT, _LAST = 12, 14
"""The words of the work that say how many bytes there were, and which block is the last one."""

cgutils: Any = _cgutils
_VECTOR: Any = ir.VectorType(_WORD, LANES)
_PLACES: Any = ir.VectorType(ir.IntType(32), LANES)
_TABLE: Any = ir.ArrayType(_WORD, BLOCK_WORDS * len(_ORDERS))


def fresh_state(key_bytes: int, digest_bytes: int = 8 * DIGEST_WORDS) -> Words:
    """Return the state before the first block, for a key and a digest of so many bytes."""
    state = np.array(_IV, dtype=np.uint64)
    state[0] ^= np.uint64(0x01010000 ^ key_bytes << 8 ^ digest_bytes)
    return state


@in_llvm
def compress(
    context: Any, messages: Any, firsts: Any, counts: Any, last: Any, live: Any, states: Any
) -> Any:
    """Absorb a block of each lane that is live, into its row of `states`.

    numba has no vectors. Blocks and states are rows in memory and columns in vectors, so they are
    transposed where they are read and written. All numbers are whole, of 64 bits and without sign:
    every processor gives the same.

    Per lane: the word at which the block begins, the bytes absorbed with it, and if it is the last
    one (all bits are set, or none).

    Source: RFC 7693.
    """

    def written(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        message, first, count, end, alive, state = (
            target.make_array(kind)(target, builder, array).data
            for kind, array in zip(signature.args, arguments, strict=True)
        )
        vectors = _Vectors(builder)
        starts = [builder.load(vectors.at(first, lane)) for lane in range(LANES)]
        block = []
        for place in range(0, BLOCK_WORDS, LANES):
            rows = [builder.add(start, _word(place)) for start in starts]
            block += vectors.transposed([vectors.load(message, row) for row in rows])
        halves = [range(half, LANES * DIGEST_WORDS, DIGEST_WORDS) for half in (0, LANES)]
        old = []
        for half in halves:
            old += vectors.transposed([vectors.load(state, place) for place in half])
        work = [*old, *map(_all_lanes, _IV)]
        work[_COUNT] = builder.xor(work[_COUNT], vectors.load(count, 0))
        work[_LAST] = builder.xor(work[_LAST], vectors.load(end, 0))
        work, mask = vectors.mixed(work, block), vectors.load(alive, 0)
        for half, words in zip(halves, (range(LANES), range(LANES, DIGEST_WORDS)), strict=True):
            changed = (builder.xor(work[word], work[word + DIGEST_WORDS]) for word in words)
            kept = (builder.and_(mask, change) for change in changed)
            new = [builder.xor(old[word], change) for word, change in zip(words, kept, strict=True)]
            for place, row in zip(half, vectors.transposed(new), strict=True):
                vectors.store(row, state, place)
        return target.get_dummy_value()

    return types.void(messages, firsts, counts, last, live, states), written


class _Vectors:
    """Write instructions for vectors, which have a word of each lane."""

    def __init__(self, builder: Any) -> None:
        self._builder = builder

    def at(self, data: Any, place: Any) -> Any:
        """Point at a word of an array."""
        return self._builder.gep(data, [_word(place) if isinstance(place, int) else place])

    def load(self, data: Any, place: Any) -> Any:
        """Read as many words of an array as there are lanes."""
        there = self._builder.bitcast(self.at(data, place), _VECTOR.as_pointer())
        return self._builder.load(there, align=8)

    def store(self, vector: Any, data: Any, place: int) -> None:
        """Write as many words."""
        there = self._builder.bitcast(self.at(data, place), _VECTOR.as_pointer())
        self._builder.store(vector, there, align=8)

    def transposed(self, rows: list[Any]) -> list[Any]:
        """Return four columns of four rows."""
        picked, (a, b, c, d) = self._picked, rows
        evens, odds = (0, 4, 2, 6), (1, 5, 3, 7)
        pairs = [(picked(a, b, each), picked(c, d, each)) for each in (evens, odds)]
        low, high = (0, 1, 4, 5), (2, 3, 6, 7)
        return [picked(*pair, half) for half in (low, high) for pair in pairs]

    def mixed(self, work: list[Any], block: list[Any]) -> list[Any]:
        """Mix a block into the work, round by round."""
        builder = self._builder
        words = cgutils.alloca_once(builder, _VECTOR, size=BLOCK_WORDS)
        for number, word in enumerate(block):
            builder.store(word, self.at(words, number))
        places = [cgutils.alloca_once_value(builder, vector) for vector in work]
        table = ir.Constant(_TABLE, [number for order in _ORDERS for number in order])
        orders = cgutils.global_constant(builder, "blake2b_orders", table)
        orders = builder.bitcast(orders, _WORD.as_pointer())
        with cgutils.for_range(builder, _word(len(_ORDERS))) as around:
            first = builder.mul(around.index, _word(BLOCK_WORDS))
            vectors = [builder.load(place) for place in places]
            for number, four in enumerate(_COLUMNS + _DIAGONALS):
                pair = (builder.add(first, _word(2 * number + second)) for second in (0, 1))
                chosen = (builder.load(self.at(orders, place)) for place in pair)
                self._mix(vectors, four, [builder.load(self.at(words, word)) for word in chosen])
            for place, vector in zip(places, vectors, strict=True):
                builder.store(vector, place)
        return [builder.load(place) for place in places]

    def _mix(self, work: list[Any], four: tuple[int, ...], words: list[Any]) -> None:
        a, b, c, d = four
        for word, (of_d, of_b) in zip(words, ((32, 24), (16, 63)), strict=True):
            work[a] = self._builder.add(self._builder.add(work[a], work[b]), word)
            work[d] = self._rotated(self._builder.xor(work[d], work[a]), of_d)
            work[c] = self._builder.add(work[c], work[d])
            work[b] = self._rotated(self._builder.xor(work[b], work[c]), of_b)

    def _rotated(self, vector: Any, bits: int) -> Any:
        down = self._builder.lshr(vector, _all_lanes(bits))
        return self._builder.or_(down, self._builder.shl(vector, _all_lanes(64 - bits)))

    def _picked(self, left: Any, right: Any, places: tuple[int, ...]) -> Any:
        return self._builder.shuffle_vector(left, right, ir.Constant(_PLACES, list(places)))


def _word(number: int) -> Any:
    return ir.Constant(_WORD, number)


def _all_lanes(number: int) -> Any:
    return ir.Constant(_VECTOR, [number] * LANES)


_YES, _NO = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0)


class Lanes(NamedTuple):
    """Hold a message for each lane in an area of its own, and the state of its hash.

    A lane is a part of the processor's vector registers. A message is at once bytes, which are
    written, and little-endian words, which are read. It is hashed from a state that has absorbed a
    key and a prefix before.

    `begins` is the block that comes next and `ends` the byte where the message ends, both counted
    in all of `messages`. Whoever has what messages begin with, or a state before the last block,
    can draw: they are never shown.

    Source: RFC 7693.
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
