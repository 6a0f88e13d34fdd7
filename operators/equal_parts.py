"""Many strings of bytes of one length, without an object for each."""

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from fugu.operators.mechanism import Integers

LARGEST_FIRST = np.dtype(">i8")
"""Write integers into fields like this."""


class EqualParts(Sequence[bytes]):
    """Present the rows of a table of bytes as a sequence of bytes.

    >>> parts = EqualParts.of_integers(b"at ", np.array([1, 258]))
    >>> len(parts), parts[1][-2:].hex(), [part[-1] for part in parts]
    (2, '0102', [1, 2])
    """

    def __init__(self, table: NDArray[np.uint8]) -> None:
        self.table = table

    @classmethod
    def of_integers(cls, prefix: bytes, numbers: Integers) -> "EqualParts":
        """Make a prefix and eight bytes, the highest first, for each number."""
        table = np.empty((len(numbers), len(prefix) + LARGEST_FIRST.itemsize), dtype=np.uint8)
        table[:, : len(prefix)] = np.frombuffer(prefix, dtype=np.uint8)
        table[:, len(prefix) :] = numbers.astype(LARGEST_FIRST)[:, None].view(np.uint8)
        return cls(table)

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[bytes]:
        rows: list[bytes] = self.table.view(f"V{self.table.shape[1]}")[:, 0].tolist()
        return iter(rows)

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> "EqualParts": ...

    def __getitem__(self, index: int | slice) -> "bytes | EqualParts":
        if isinstance(index, slice):
            return EqualParts(self.table[index])
        row: bytes = self.table[index].tobytes()
        return row


def column_of(numbers: Sequence[int]) -> Integers:
    """Turn a range, or a list, of integers into an array.

    >>> column_of(range(3, 6)).tolist(), column_of([3, 5]).tolist()
    ([3, 4, 5], [3, 5])
    """
    if isinstance(numbers, range):
        return np.arange(numbers.start, numbers.stop, numbers.step, dtype=np.int64)
    return np.array(numbers, dtype=np.int64)
