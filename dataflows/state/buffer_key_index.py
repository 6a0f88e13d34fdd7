"""Keep keys in one buffer and find them by a compiled hash table, without an object for each.

Producers choose the keys of records. So the hash has a key of its own, random and of this process
only: it is in no state and in nothing that is published, and rows do not depend on it.
"""

import os
from collections.abc import Sequence
from functools import cache

import numpy as np

from fugu.dataflows.state.compiled_key_table import (
    add_keys,
    copy_keys,
    find_row,
    find_rows,
    hash_keys,
    move_slots,
    put_rows,
    remove_rows,
)
from fugu.operators.columns import ByteColumn, Bytes, bytes_of
from fugu.operators.compiled.compiling import read_only
from fugu.operators.mechanism import Integers, Words

_FIRST_KEYS, _FIRST_SLOTS, _FIRST_BYTES = 64, 256, 1024
_SECRET_BYTES = 16
_SLOTS_PER_KEY = 2
"""At least so many, or runs of slots that are taken become long."""


class BufferKeyIndex:
    """Hold the bytes of all keys, where each begins and how long it is, and a table of slots."""

    def __init__(self) -> None:
        self._secret = np.frombuffer(os.urandom(_SECRET_BYTES), dtype=np.uint64).copy()
        self._slots = np.zeros(_FIRST_SLOTS, dtype=np.uint64)
        self._held = np.empty(_FIRST_BYTES, dtype=np.uint8)
        self._places = np.empty((_FIRST_KEYS, 2), dtype=np.int64)
        self._count = 0
        self._used = 0

    def __len__(self) -> int:
        return self._count

    def find(self, keys: Sequence[bytes]) -> Integers:
        """Return the row of each key, `NO_ROW` where there is none."""
        column = ByteColumn.of(keys)
        rows = np.empty(len(column), dtype=np.int64)
        wanted = *_arrays(column), self._tags(column)
        find_rows(self._slots, self._held, self._places, *wanted, rows)
        return rows

    def row_of(self, key: bytes) -> int:
        """Return the row of one key, or `NO_ROW`."""
        return int(find_row(self._secret, self._slots, self._held, self._places, bytes_of(key)))

    def add(self, keys: Sequence[bytes]) -> Integers:
        """Return the row of each key; new keys get the next rows."""
        column = ByteColumn.of(keys)
        rows = self.find(column)
        new = np.flatnonzero(rows < 0)
        if len(new):
            rows[new] = self._add(column.taken(new))
        return rows

    def rename(self, rows: Integers, keys: Sequence[bytes]) -> None:
        """Give rows other keys, which have none; the keys that had them are unknown from now on."""
        column = ByteColumn.of(keys)
        remove_rows(self._slots, self._tags(self.keys_of(rows)), read_only(rows))
        self._make_room(0, int(column.lengths.sum()))
        content = bytes_of(column.joined())
        begins = self._used + np.cumsum(column.lengths) - column.lengths
        self._held[self._used : self._used + len(content)] = content
        self._used += len(content)
        self._places[rows, 0], self._places[rows, 1] = begins, column.lengths
        put_rows(self._slots, self._tags(column), read_only(rows))

    def keys_of(self, rows: Integers) -> ByteColumn:
        """Return the key of each row."""
        begins, lengths = self._places[: self._count][rows].T.copy()
        after = np.cumsum(lengths)
        copies = np.empty(int(lengths.sum()), dtype=np.uint8)
        copy_keys(self._held, begins, lengths, copies)
        return ByteColumn(copies, after - lengths, lengths)

    def _tags(self, column: ByteColumn) -> Words:
        tags = np.empty(len(column), dtype=np.uint64)
        hash_keys(self._secret, *_arrays(column), tags)
        return tags

    def _add(self, column: ByteColumn) -> Integers:
        self._make_room(len(column), int(column.lengths.sum()))
        rows, before = np.empty(len(column), dtype=np.int64), self._count
        own = self._slots, self._held, self._places, before, self._used
        wanted = *_arrays(column), self._tags(column)
        self._count = int(add_keys(*own, *wanted, rows))
        self._used += int(self._places[before : self._count, 1].sum())
        return rows

    def _make_room(self, keys: int, content: int) -> None:
        """Have room for so many keys more and so many bytes."""
        wanted, rows, slots = self._count + keys, len(self._places), len(self._slots)
        if wanted > rows:
            places = np.empty((max(wanted, 2 * rows), 2), dtype=np.int64)
            places[: self._count] = self._places[: self._count]
            self._places = places
        if _SLOTS_PER_KEY * wanted > slots:
            larger = np.zeros(1 << (_SLOTS_PER_KEY * wanted - 1).bit_length(), dtype=np.uint64)
            move_slots(self._slots, larger)
            self._slots = larger
        if self._used + content > len(self._held):
            self._hold_again(content)

    def _hold_again(self, content: int) -> None:
        """Move the keys to a larger buffer, without those that rows had before."""
        keys = self.keys_of(np.arange(self._count))
        used = len(keys.content)
        self._held = np.empty(max(used + content, 2 * used), dtype=np.uint8)
        self._held[:used] = keys.content
        self._places[: self._count, 0] = keys.begins
        self._used = used


@cache
def warmed_up() -> type[BufferKeyIndex]:
    """Return the index, with everything compiled: no record waits for it."""
    index = BufferKeyIndex()
    row = index.add([b"made up"])
    index.rename(row, [b"another"])
    index.add([b"%d" % number for number in range(_FIRST_SLOTS)])
    index.row_of(b"another")
    return BufferKeyIndex


def _arrays(column: ByteColumn) -> tuple[Bytes, Integers, Integers]:
    return column.content, read_only(column.begins), read_only(column.lengths)
