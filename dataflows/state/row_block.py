"""Blocks: how rows are written. Self-describing, checksummed, no pickle, equal on every platform.

magic, u32 header length, header (JSON), arrays and keys one after the other, digest

A column of objects (payloads: bytes or None) is the array of their lengths, -1 for None, and then
all of them, one after the other.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import orjson

from dataflows.errors import StartRefused
from operators.mechanism import Array, State

BLOCK_FORMAT = 2
_MAGIC = b"FUGUROWS"
_DIGEST_BYTES = 32
_LENGTHS, _NONE = "<i4", -1


def written(header: dict[str, Any], parts: Sequence[bytes]) -> bytes:
    """A block of a header and the bytes that it describes."""
    described = orjson.dumps({"format": BLOCK_FORMAT, **header})
    content = b"".join([_MAGIC, len(described).to_bytes(4, "little"), described, *parts])
    return content + _digest(content)


def read(block: bytes) -> tuple[dict[str, Any], "Body"]:
    """Header and body of a sound block; `StartRefused` if it is damaged or of another format."""
    content, digest = memoryview(block)[:-_DIGEST_BYTES], block[-_DIGEST_BYTES:]
    if not block.startswith(_MAGIC) or _digest(content) != digest:
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
    return header, Body(content, end)


def described(columns: State) -> dict[str, Any]:
    """Types and shapes of columns, as a header holds them."""
    return {
        name: {"dtype": column.dtype.newbyteorder("<").str, "shape": list(column.shape[1:])}
        for name, column in columns.items()
    }


def column_bytes(columns: State) -> list[bytes]:
    """The content of columns, little-endian."""
    return [
        _payload_bytes(column)
        if column.dtype == object
        else np.ascontiguousarray(column, dtype=column.dtype.newbyteorder("<")).tobytes()
        for column in columns.values()
    ]


def _payload_bytes(column: Array) -> bytes:
    payloads = column.ravel()
    lengths = np.full(len(payloads), _NONE, dtype=_LENGTHS)
    present = np.flatnonzero(np.not_equal(payloads, np.array(None, dtype=object)))
    held = payloads[present].tolist()
    lengths[present] = [len(payload) for payload in held]
    return b"".join([lengths.tobytes(), *held])


class Body:
    """Reads a block's arrays one after the other."""

    def __init__(self, content: memoryview, start: int) -> None:
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
            parts.append(bytes(self._content[self._at : self._at + length]))
            self._at += length
        return parts

    def take_columns(self, like: State, rows: int) -> State:
        """The next columns, of the types and shapes of `like`."""
        columns = {}
        for name, column in like.items():
            shape = (rows, *column.shape[1:])
            count = int(np.prod(shape))
            if column.dtype == object:
                columns[name] = self._take_payloads(count).reshape(shape)
                continue
            dtype = column.dtype.newbyteorder("<").str
            columns[name] = self.take(count, dtype).reshape(shape).astype(column.dtype)
        return columns

    def _take_payloads(self, count: int) -> Array:
        lengths = self.take(count, _LENGTHS)
        present = np.flatnonzero(lengths != _NONE)
        payloads = np.full(count, None, dtype=object)
        payloads[present] = self.take_each(lengths[present].tolist())
        return payloads


def _digest(content: bytes | memoryview) -> bytes:
    return blake2b(content, digest_size=_DIGEST_BYTES).digest()
