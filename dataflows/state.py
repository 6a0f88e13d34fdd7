"""The state of one partition: a table from stream key to row, and the mechanism's columns.

`encode` writes one self-describing, checksummed block without pickle:
magic, header length, header (JSON: format, columns, key lengths), keys, column bytes, digest.
bytewax stores it whole with each epoch; writing only the rows that changed is the seam where the
next state store goes in (`encode` and `decode` are the only two places that know the format).
"""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import orjson

from dataflows.errors import StartRefused
from operators.mechanism import Integers, Mechanism, State

_MAGIC = b"FUGUROWS"
_FORMAT = 1
_DIGEST_BYTES = 32
_FIRST_CAPACITY = 64


class RowTable:
    """Rows are handed out in order of first appearance and never move."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism
        self._rows: dict[bytes, int] = {}
        self._columns: State = mechanism.start(0)
        self._capacity = 0

    def __len__(self) -> int:
        return len(self._rows)

    def rows_of(self, keys: Sequence[bytes]) -> Integers:
        """The row of each key; new keys get fresh rows."""
        rows = self._rows
        numbers = np.fromiter(
            (rows.setdefault(key, len(rows)) for key in keys), dtype=np.int64, count=len(keys)
        )
        if len(rows) > self._capacity:
            self._grow(len(rows))
        return numbers

    def gather(self, rows: Integers) -> State:
        """Copies of the given rows."""
        return {name: column[rows] for name, column in self._columns.items()}

    def scatter(self, rows: Integers, state: State) -> None:
        """Write rows back; `rows` are distinct."""
        for name, column in self._columns.items():
            column[rows] = state[name]

    def encode(self) -> bytes:
        """The whole table as bytes, the same on every platform."""
        used = {
            name: np.ascontiguousarray(column[: len(self)], dtype=column.dtype.newbyteorder("<"))
            for name, column in self._columns.items()
        }
        header = orjson.dumps(
            {
                "format": _FORMAT,
                "rows": len(self),
                "columns": {
                    name: {"dtype": column.dtype.str, "shape": column.shape}
                    for name, column in used.items()
                },
                "key_lengths": [len(key) for key in self._rows],
            }
        )
        body = b"".join(
            [_MAGIC, len(header).to_bytes(4, "little"), header, *self._rows]
            + [column.tobytes() for column in used.values()]
        )
        return body + blake2b(body, digest_size=_DIGEST_BYTES).digest()

    @classmethod
    def decode(cls, mechanism: Mechanism, encoded: bytes) -> "RowTable":
        """The table that `encode` wrote; `StartRefused` if it is damaged or another mechanism's."""
        body, digest = encoded[:-_DIGEST_BYTES], encoded[-_DIGEST_BYTES:]
        if (
            not body.startswith(_MAGIC)
            or blake2b(body, digest_size=_DIGEST_BYTES).digest() != digest
        ):
            raise StartRefused(
                "the stored state is damaged (checksum). Restore the state directory from a "
                "backup; starting without it would reset budgets."
            )
        start = len(_MAGIC) + 4
        end = start + int.from_bytes(body[len(_MAGIC) : start], "little")
        header = orjson.loads(body[start:end])
        if header["format"] != _FORMAT:
            raise StartRefused(
                f"the stored state has format {header['format']}, this version reads {_FORMAT}. "
                "Run the version of Fugu that wrote it."
            )
        table = cls(mechanism)
        keys = []
        for length in header["key_lengths"]:
            keys.append(body[end : end + length])
            end += length
        table.rows_of(keys)
        for name, column in table._columns.items():
            stored = header["columns"].get(name)
            shape = [header["rows"], *column.shape[1:]]
            dtype = column.dtype.newbyteorder("<")
            if stored != {"dtype": dtype.str, "shape": shape}:
                raise StartRefused(
                    f"the stored state has no column {name!r} of the configured shape: "
                    "it belongs to another operator or alphabet"
                )
            size = int(np.prod(shape)) * dtype.itemsize
            values = np.frombuffer(body[end : end + size], dtype=dtype).reshape(shape)
            column[: header["rows"]] = values
            end += size
        return table

    def _grow(self, rows: int) -> None:
        capacity = max(_FIRST_CAPACITY, 2 * self._capacity, rows)
        fresh = self._mechanism.start(capacity - self._capacity)
        self._columns = {
            name: np.concatenate([column, fresh[name]]) for name, column in self._columns.items()
        }
        self._capacity = capacity
