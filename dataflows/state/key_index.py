"""Know the row of each key: rows are handed out in order of first appearance."""

from collections.abc import Sequence
from itertools import islice
from typing import Protocol

import numpy as np

from fugu.operators import compiled
from fugu.operators.columns import ByteColumn
from fugu.operators.mechanism import Integers

NO_ROW = -1


class KeyIndex(Protocol):
    """Describe what finds rows by keys, and keys by rows."""

    def __len__(self) -> int: ...

    def find(self, keys: Sequence[bytes]) -> Integers:
        """Return the row of each key, `NO_ROW` where there is none."""

    def row_of(self, key: bytes) -> int:
        """Return the row of one key, or `NO_ROW`."""

    def add(self, keys: Sequence[bytes]) -> Integers:
        """Return the row of each key; new keys get the next rows."""

    def rename(self, rows: Integers, keys: Sequence[bytes]) -> None:
        """Give rows other keys, which have none; the keys that had them are unknown from now on."""

    def keys_of(self, rows: Integers) -> ByteColumn:
        """Return the key of each row."""


class DictKeyIndex:
    """Keep keys in a dict and a list, where numba is missing."""

    def __init__(self) -> None:
        self._rows: dict[bytes, int] = {}
        self._keys: list[bytes] = []

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, keys: Sequence[bytes]) -> Integers:
        """Return the row of each key, `NO_ROW` where there is none."""
        known = self._rows
        try:
            return np.fromiter(map(known.__getitem__, keys), np.int64, len(keys))
        except KeyError:
            rows = (known.get(key, NO_ROW) for key in keys)
            return np.fromiter(rows, np.int64, len(keys))

    def row_of(self, key: bytes) -> int:
        """Return the row of one key, or `NO_ROW`."""
        return self._rows.get(key, NO_ROW)

    def add(self, keys: Sequence[bytes]) -> Integers:
        """Return the row of each key; new keys get the next rows."""
        known, before = self._rows, len(self._rows)
        rows = np.fromiter((known.setdefault(key, len(known)) for key in keys), np.int64, len(keys))
        new = len(known) - before
        self._keys += list(islice(reversed(known), new))[::-1]
        return rows

    def rename(self, rows: Integers, keys: Sequence[bytes]) -> None:
        """Give rows other keys, which have none; the keys that had them are unknown from now on."""
        places = rows.tolist()
        for row in places:
            del self._rows[self._keys[row]]
        for row, key in zip(places, keys, strict=True):
            self._rows[key] = row
            self._keys[row] = key

    def keys_of(self, rows: Integers) -> ByteColumn:
        """Return the key of each row."""
        return ByteColumn.of([self._keys[row] for row in rows.tolist()])


def new_index() -> KeyIndex:
    """Return an index without keys: compiled, where it can be."""
    if not compiled.available():
        return DictKeyIndex()
    from fugu.dataflows.state.buffer_key_index import warmed_up

    return warmed_up()()
