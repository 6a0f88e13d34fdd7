"""The state of one partition: a table from stream key to row, and the mechanism's columns.

A table is written as *blocks*: the rows that changed since the last block and the keys that are
new. Applying all blocks in order to an empty table gives the table. A block is self-describing and
checksummed, without pickle, and the same bytes on every platform:

    magic, u32 header length, header (JSON), row numbers, key lengths, new keys, columns, digest
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any

import numpy as np
import orjson

from dataflows.errors import StartRefused
from operators.mechanism import Array, Integers, State

BLOCK_FORMAT = 1
_MAGIC = b"FUGUROWS"
_DIGEST_BYTES = 32
_FIRST_CAPACITY = 64
_BYTES_PER_KEY = 200


class RowTable:
    """Rows are handed out in order of first appearance and never move."""

    def __init__(self, start: Callable[[int], State]) -> None:
        """`start` gives the columns of that many fresh rows."""
        self._start = start
        self._keys: dict[bytes, int] = {}
        self._columns: State = start(0)
        self._changed = np.zeros(0, dtype=bool)
        self._written_keys = 0
        self.rows_taken = 0
        """Rows in all blocks taken so far."""

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def bytes_per_row(self) -> int:
        """Bytes that one row takes in a block, its key not counted."""
        columns = self._columns.values()
        return sum(int(np.prod(c.shape[1:])) * c.dtype.itemsize for c in columns)

    def unknown(self, keys: Sequence[bytes]) -> list[int]:
        """Indices of the keys that have no row yet."""
        known = self._keys
        return [index for index, key in enumerate(keys) if key not in known]

    def rows_of(self, keys: Sequence[bytes]) -> Integers:
        """The row of each key; new keys get fresh rows."""
        known = self._keys
        rows = np.fromiter(
            (known.setdefault(key, len(known)) for key in keys), dtype=np.int64, count=len(keys)
        )
        if len(known) > len(self._changed):
            self._grow(len(known))
        return rows

    def gather(self, rows: Integers) -> State:
        """Copies of the given rows."""
        return {name: column[rows] for name, column in self._columns.items()}

    def scatter(self, rows: Integers, state: State) -> None:
        """Write rows back; `rows` are distinct."""
        for name, column in self._columns.items():
            column[rows] = state[name]
        self._changed[rows] = True

    def take_changes(self) -> bytes:
        """One block with everything that changed since the last one."""
        rows = np.flatnonzero(self._changed[: len(self)])
        block = self._block(rows, self._written_keys)
        self._changed[:] = False
        self._written_keys = len(self)
        self.rows_taken += len(rows)
        return block

    def take_everything(self) -> bytes:
        """One block that gives the whole table when it is applied to an empty one."""
        self._changed[: len(self)] = True
        self._written_keys = 0
        return self.take_changes()

    def apply(self, block: bytes) -> None:
        """Apply the next block; `StartRefused` if it is damaged or of another mechanism."""
        header, body = _checked(block)
        columns = {name: _description(column) for name, column in self._columns.items()}
        if header["columns"] != columns or header["first_key"] != len(self):
            raise StartRefused(
                "the stored state belongs to another operator or alphabet, or a part of it is "
                "missing. Restore the state directory from a backup."
            )
        rows = body.take(header["rows"], "<i8")
        lengths = body.take(header["new_keys"], "<u4")
        self.rows_of(body.take_each(lengths.tolist()))
        for name, column in self._columns.items():
            size = int(np.prod(column.shape[1:]))
            values = body.take(len(rows) * size, columns[name]["dtype"])
            column[rows] = values.reshape(len(rows), *column.shape[1:])
        self._written_keys = len(self)

    def _block(self, rows: Integers, first_key: int) -> bytes:
        new_keys = list(islice(reversed(self._keys), len(self) - first_key))[::-1]
        header = orjson.dumps(
            {
                "format": BLOCK_FORMAT,
                "rows": len(rows),
                "first_key": first_key,
                "new_keys": len(new_keys),
                "columns": {n: _description(c) for n, c in self._columns.items()},
            }
        )
        lengths = np.array([len(key) for key in new_keys], dtype="<u4")
        columns = [
            np.ascontiguousarray(column[rows], dtype=column.dtype.newbyteorder("<")).tobytes()
            for column in self._columns.values()
        ]
        content = b"".join(
            [
                _MAGIC,
                len(header).to_bytes(4, "little"),
                header,
                rows.astype("<i8").tobytes(),
                lengths.tobytes(),
                *new_keys,
                *columns,
            ]
        )
        return content + _digest(content)

    def _grow(self, rows: int) -> None:
        before = len(self._changed)
        capacity = max(_FIRST_CAPACITY, 2 * before, rows)
        fresh = self._start(capacity - before)
        self._columns = {
            name: np.concatenate([column, fresh[name]]) for name, column in self._columns.items()
        }
        self._changed = np.concatenate([self._changed, np.zeros(capacity - before, dtype=bool)])


def estimated_megabytes(start: Callable[[int], State], rows: int) -> float:
    """Memory of a table of so many rows: columns, keys, and what Python adds to keys."""
    return rows * (RowTable(start).bytes_per_row + _BYTES_PER_KEY) / 1e6


class _Body:
    """Reads a block's arrays one after the other."""

    def __init__(self, content: bytes, start: int) -> None:
        self._content = content
        self._at = start

    def take(self, count: int, dtype: str) -> Array:
        """The next `count` items."""
        items = np.frombuffer(self._content, dtype=dtype, count=count, offset=self._at)
        self._at += items.nbytes
        return items

    def take_each(self, lengths: list[int]) -> list[bytes]:
        """The next byte strings of the given lengths."""
        parts = []
        for length in lengths:
            parts.append(self._content[self._at : self._at + length])
            self._at += length
        return parts


def check_block(block: bytes) -> dict[str, Any]:
    """The header of a sound block; `StartRefused` if it is damaged or of a newer format."""
    return _checked(block)[0]


def _checked(block: bytes) -> tuple[dict[str, Any], _Body]:
    content, digest = block[:-_DIGEST_BYTES], block[-_DIGEST_BYTES:]
    if not content.startswith(_MAGIC) or _digest(content) != digest:
        raise StartRefused(
            "the stored state is damaged (checksum). Restore the state directory from a backup; "
            "starting without it would reset budgets."
        )
    start = len(_MAGIC) + 4
    end = start + int.from_bytes(content[len(_MAGIC) : start], "little")
    header = orjson.loads(content[start:end])
    if header["format"] != BLOCK_FORMAT:
        raise StartRefused(
            f"the stored state has format {header['format']}, this version reads {BLOCK_FORMAT}. "
            "Run the version of Fugu that wrote it."
        )
    return header, _Body(content, end)


def _description(column: Array) -> dict[str, Any]:
    return {"dtype": column.dtype.newbyteorder("<").str, "shape": list(column.shape[1:])}


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_DIGEST_BYTES).digest()
