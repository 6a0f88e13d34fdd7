"""Write rows as blocks: self-describing, checksummed, no pickle, equal on every platform.

magic, u32 header length, header (JSON), arrays and keys one after the other, digest

Of a column of objects (payloads: bytes or None) only the cells that differ from what was written
before are there: a bit for each cell, the lengths of those that differ, -1 for None, and then all
of them, one after the other.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import orjson

from fugu.dataflows.base.errors import OtherVersion, StartRefused
from fugu.operators.columns import ByteColumn
from fugu.operators.mechanism import Array, State

BLOCK_FORMAT = 2
_MAGIC = b"FUGUROWS"
_DIGEST_BYTES = 32
_SIZE_BYTES = 4
_PAYLOADS = "changed payloads"
_LENGTHS, _NONE = "<i4", -1
_STRING_LENGTHS = "<u4"
Part = bytes | memoryview
_NOTHING = np.array(None, dtype=object)


def written(header: dict[str, Any], parts: Sequence[Part]) -> bytes:
    """Return a block of a header and the bytes that it describes."""
    described = orjson.dumps({"format": BLOCK_FORMAT, **header})
    content = [_MAGIC, len(described).to_bytes(_SIZE_BYTES, "little"), described, *parts]
    digest = _new_digest()
    for part in content:
        digest.update(part)
    return b"".join([*content, digest.digest()])


def read(block: bytes) -> tuple[dict[str, Any], "Body"]:
    """Return header and body of a sound block; refuse one that is damaged or of another format."""
    content, digest = memoryview(block)[:-_DIGEST_BYTES], block[-_DIGEST_BYTES:]
    if not block.startswith(_MAGIC) or _new_digest(content).digest() != digest:
        raise StartRefused(
            "the stored state is damaged (checksum). Restore the state directory from a backup; "
            "starting without it would reset budgets."
        )
    start = len(_MAGIC) + _SIZE_BYTES
    end = start + int.from_bytes(content[len(_MAGIC) : start], "little")
    header = orjson.loads(content[start:end])
    if header["format"] != BLOCK_FORMAT:
        raise OtherVersion("a block", header["format"], BLOCK_FORMAT)
    return header, Body(content, end)


def described(columns: State) -> dict[str, Any]:
    """Return types and shapes of columns, as a header holds them."""
    return {
        name: {
            "dtype": _PAYLOADS if column.dtype == object else column.dtype.newbyteorder("<").str,
            "shape": list(column.shape[1:]),
        }
        for name, column in columns.items()
    }


def payloads_of(columns: State) -> State:
    """Return the columns whose cells are objects."""
    return {name: column for name, column in columns.items() if column.dtype == object}


def column_bytes(columns: State, before: State | None = None) -> list[Part]:
    """Return the content of columns, little-endian; `before` are payloads as they were last
    written."""
    return [
        _payload_bytes(column, _NOTHING if before is None else before[name])
        if column.dtype == object
        else number_bytes(column)
        for name, column in columns.items()
    ]


def number_bytes(numbers: Array) -> memoryview:
    """Return the content of an array, little-endian, not copied if it is that already."""
    plain = np.ascontiguousarray(numbers, dtype=numbers.dtype.newbyteorder("<"))
    return plain.reshape(-1).view(np.uint8).data


def string_bytes(strings: ByteColumn) -> list[Part]:
    """Return the lengths of strings, and all of them one after the other."""
    return [number_bytes(strings.lengths.astype(_STRING_LENGTHS)), strings.joined()]


def _payload_bytes(column: Array, before: Array) -> bytes:
    differ = np.not_equal(column, before)
    payloads = column[differ].tolist()
    lengths = [_NONE if payload is None else len(payload) for payload in payloads]
    bits, sizes = np.packbits(differ).tobytes(), np.array(lengths, dtype=_LENGTHS).tobytes()
    return b"".join([bits, sizes, *filter(None, payloads)])


class Body:
    """Read a block's arrays one after the other."""

    def __init__(self, content: memoryview, start: int) -> None:
        self._content = content
        self._at = start

    def take(self, count: int, dtype: str) -> Array:
        """Return the next `count` items."""
        items = np.frombuffer(self._content, dtype=dtype, count=count, offset=self._at)
        self._at += items.nbytes
        return items

    def take_strings(self, count: int) -> ByteColumn:
        """Return the next strings, as `string_bytes` wrote them, not copied."""
        lengths = self.take(count, _STRING_LENGTHS).astype(np.int64)
        content = self.take(int(lengths.sum()), "u1")
        return ByteColumn(content, np.cumsum(lengths) - lengths, lengths)

    def take_each(self, lengths: list[int]) -> list[bytes]:
        """Return the next byte strings of the given lengths."""
        ends = np.cumsum(lengths, dtype=np.int64).tolist()
        starts = [0, *ends]
        content = bytes(self._content[self._at : self._at + starts[-1]])
        self._at += len(content)
        return [content[start:end] for start, end in zip(starts, ends, strict=False)]

    def take_columns(self, like: State, rows: int, before: State | None = None) -> State:
        """Return the next columns, as `column_bytes` wrote them; `like` has their types and
        shapes."""
        columns = {}
        for name, column in like.items():
            shape = (rows, *column.shape[1:])
            if column.dtype == object:
                held = np.full(shape, None, dtype=object) if before is None else before[name]
                columns[name] = self._take_payloads(held)
                continue
            dtype = column.dtype.newbyteorder("<").str
            content = self.take(int(np.prod(shape)), dtype)
            columns[name] = content.reshape(shape).astype(column.dtype)
        return columns

    def _take_payloads(self, before: Array) -> Array:
        bits = self.take(-(-before.size // 8), "u1")
        differ = np.unpackbits(bits, count=before.size).astype(bool).reshape(before.shape)
        lengths = self.take(int(np.count_nonzero(differ)), _LENGTHS)
        contents = self.take_each(lengths.clip(min=0).tolist())
        cells = np.array(contents, dtype=object)
        cells[lengths == _NONE] = None
        payloads = before.copy()
        payloads[differ] = cells
        return payloads


def _new_digest(content: Part = b"") -> Any:
    return blake2b(content, digest_size=_DIGEST_BYTES)
