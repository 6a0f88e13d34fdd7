"""Find keys in a hash table of rows, compiled.

A slot is a word: the tag of a key (half of its hash) above, and one more than its row below; zero
is a free slot. A key is in the first slot from its home on that holds it, and no slot between is
free. The home is the tag itself, cut to the size of the table, which is a power of two: so a table
grows, and closes gaps, without a look at a key.

A key of a large table lies somewhere in memory, so does its slot, and each takes long to come.
What is looked up is taken through in passes therefore: a pass asks for the memory of many keys at
once.
"""

import numpy as np

from fugu.dataflows.state.compiled_siphash import sip_hash, word_at
from fugu.operators.columns import Bytes
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.mechanism import Integers, Words

_0, _1, _8 = np.uint64(0), np.uint64(1), np.uint64(8)
_HALF = np.uint64(32)
_ROW = np.uint64(0xFFFFFFFF)


@entry_point
def hash_keys(
    secret: Words, content: Bytes, begins: Integers, lengths: Integers, tags: Words
) -> None:
    """Write the tag of each key."""
    for place in range(np.uint64(len(tags))):
        hashed = sip_hash(secret[0], secret[1], content, begins[place], lengths[place])
        tags[place] = hashed >> _HALF


@entry_point
def find_rows(
    slots: Words,
    held: Bytes,
    places: Integers,
    content: Bytes,
    begins: Integers,
    lengths: Integers,
    tags: Words,
    rows: Integers,
) -> None:
    """Write the row of each key, or -1; `places` are begin and length of each row's key."""
    last = np.uint64(len(slots)) - _1
    for place in range(np.uint64(len(tags))):
        tag = tags[place]
        at = tag & last
        slot = slots[at]
        while slot != _0 and slot >> _HALF != tag:
            at = (at + _1) & last
            slot = slots[at]
        rows[place] = np.int64(slot & _ROW) - 1
    for place in range(np.uint64(len(tags))):
        begin, length = begins[place], lengths[place]
        row = rows[place]
        if row >= 0 and not _is_key(held, places, row, content, begin, length):
            at = _slot_of(slots, held, places, tags[place], content, begin, length)
            rows[place] = np.int64(slots[at] & _ROW) - 1


@entry_point
def find_row(secret: Words, slots: Words, held: Bytes, places: Integers, key: Bytes) -> np.int64:
    """Return the row of one key, or -1."""
    tag = sip_hash(secret[0], secret[1], key, 0, len(key)) >> _HALF
    at = _slot_of(slots, held, places, tag, key, 0, len(key))
    return np.int64(slots[at] & _ROW) - 1


@entry_point
def add_keys(
    slots: Words,
    held: Bytes,
    places: Integers,
    count: int,
    used: int,
    content: Bytes,
    begins: Integers,
    lengths: Integers,
    tags: Words,
    rows: Integers,
) -> int:
    """Write the row of each key; new ones get the rows from `count` on, and their bytes are held
    from `used` on. Return how many keys there are then. There must be room for all to be new."""
    for place in range(np.uint64(len(tags))):
        begin, length = begins[place], lengths[place]
        at = _slot_of(slots, held, places, tags[place], content, begin, length)
        if slots[at] == _0:
            _copy(held, used, content, begin, length)
            places[count, 0], places[count, 1] = used, length
            count, used = count + 1, used + length
            slots[at] = tags[place] << _HALF | np.uint64(count)
        rows[place] = np.int64(slots[at] & _ROW) - 1
    return count


@entry_point
def copy_keys(held: Bytes, begins: Integers, lengths: Integers, copies: Bytes) -> None:
    """Write keys one after the other; there must be room for all."""
    used = 0
    for place in range(np.uint64(len(begins))):
        _copy(copies, used, held, begins[place], lengths[place])
        used += lengths[place]


@entry_point
def put_rows(slots: Words, tags: Words, rows: Integers) -> None:
    """Note rows of keys that are in no slot."""
    last = np.uint64(len(slots)) - _1
    for place in range(np.uint64(len(tags))):
        at = tags[place] & last
        while slots[at] != _0:
            at = (at + _1) & last
        slots[at] = tags[place] << _HALF | np.uint64(rows[place] + 1)


@entry_point
def remove_rows(slots: Words, tags: Words, rows: Integers) -> None:
    """Free the slots of rows, and close the gaps."""
    last = np.uint64(len(slots)) - _1
    for place in range(np.uint64(len(tags))):
        gap, wanted = tags[place] & last, tags[place] << _HALF | np.uint64(rows[place] + 1)
        while slots[gap] != wanted:
            gap = (gap + _1) & last
        slots[gap] = _0
        at = (gap + _1) & last
        while slots[at] != _0:
            home = (slots[at] >> _HALF) & last
            if ((at - home) & last) >= ((at - gap) & last):
                slots[gap], slots[at] = slots[at], _0
                gap = at
            at = (at + _1) & last


@entry_point
def move_slots(before: Words, slots: Words) -> None:
    """Note everything that is in one table in an empty larger one."""
    last = np.uint64(len(slots)) - _1
    for place in range(np.uint64(len(before))):
        slot = before[place]
        if slot != _0:
            at = (slot >> _HALF) & last
            while slots[at] != _0:
                at = (at + _1) & last
            slots[at] = slot


@part
def _copy(target: Bytes, at: int, source: Bytes, begin: int, length: int) -> None:
    one, other = np.uint64(at), np.uint64(begin)
    for step in range(np.uint64(length)):
        target[one + step] = source[other + step]


@part
def _slot_of(
    slots: Words,
    held: Bytes,
    places: Integers,
    tag: np.uint64,
    content: Bytes,
    begin: int,
    length: int,
) -> np.uint64:
    """Return the slot that has a key, or the free one where it belongs."""
    last = np.uint64(len(slots)) - _1
    at = tag & last
    while True:
        slot = slots[at]
        if slot == _0:
            return at
        row = np.int64(slot & _ROW) - 1
        if slot >> _HALF == tag and _is_key(held, places, row, content, begin, length):
            return at
        at = (at + _1) & last


@part
def _is_key(
    held: Bytes, places: Integers, row: np.int64, content: Bytes, begin: int, length: int
) -> bool:
    """Return whether a row has this key, all bytes of it."""
    if places[np.uint64(row), _1] != length:
        return False
    one, other = np.uint64(places[np.uint64(row), _0]), np.uint64(begin)
    left = np.uint64(length)
    while left >= _8:
        if word_at(held, one) != word_at(content, other):
            return False
        one, other, left = one + _8, other + _8, left - _8
    while left > _0:
        if held[one] != content[other]:
            return False
        one, other, left = one + _1, other + _1, left - _1
    return True
