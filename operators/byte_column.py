"""Many strings of bytes in one array, without an object for each."""

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fugu.operators.column import Cell, Column
from fugu.operators.mechanism import Integers

Bytes = NDArray[np.uint8]

LARGEST_FIRST = np.dtype(">i8")
"""Write integers into fields like this."""
_COMPARED_AT_ONCE = 64
"""So many last bytes of all strings are compared one by one; longer strings, each as a whole."""


class SpanColumn(Column[Cell]):
    """Hold where each string lies in one array.

    Strings may overlap, and content that belongs to none of them does no harm. Nothing is copied
    where a column is made of another one.
    """

    __slots__ = ("begins", "content", "lengths")

    def __init__(self, content: Bytes, begins: Integers, lengths: Integers) -> None:
        self.content = content.view()
        self.content.flags.writeable = False
        self.begins = np.ascontiguousarray(begins)
        self.lengths = np.ascontiguousarray(lengths)

    def taken(self, index: Integers | slice) -> Self:
        return type(self)(self.content, self.begins[index], self.lengths[index])

    def __len__(self) -> int:
        return len(self.begins)


class ByteColumn(SpanColumn[bytes]):
    """Present many strings, which lie anywhere in one array, as a sequence.

    String i is `content[begins[i] : begins[i] + lengths[i]]`.

    >>> column = ByteColumn.of([b"anna", b"", b"ben"])
    >>> column[2], list(column.taken(np.array([2, 0, 2])))
    (b'ben', [b'ben', b'anna', b'ben'])
    """

    __slots__ = ()

    @classmethod
    def of(cls, parts: Sequence[bytes]) -> "ByteColumn":
        """Join strings in their order; a column stays what it is."""
        if isinstance(parts, ByteColumn):
            return parts
        lengths = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
        return cls(bytes_of(b"".join(parts)), lengths.cumsum() - lengths, lengths)

    @classmethod
    def of_table(cls, table: Bytes) -> "ByteColumn":
        """Take each row of a table as a string; all have one length."""
        rows, length = table.shape
        return cls(table.ravel(), np.arange(rows) * length, np.full(rows, length))

    @classmethod
    def repeated(cls, string: bytes, count: int) -> "ByteColumn":
        """Hold one string, so many times.

        >>> list(ByteColumn.repeated(b"anna", 2))
        [b'anna', b'anna']
        """
        begins, lengths = np.zeros(count, dtype=np.int64), np.full(count, len(string))
        return cls(bytes_of(string), begins, lengths)

    @classmethod
    def chained(cls, columns: "Sequence[ByteColumn]") -> "ByteColumn":
        """Take the strings of all columns, one column after the other."""
        if not columns:
            return cls.of([])
        sizes = np.array([len(column.content) for column in columns])
        befores = (sizes.cumsum() - sizes).tolist()
        return cls(
            np.concatenate([column.content for column in columns]),
            np.concatenate(
                [column.begins + before for column, before in zip(columns, befores, strict=True)]
            ),
            np.concatenate([column.lengths for column in columns]),
        )

    @property
    def longest(self) -> int:
        """Return the length of the longest string, 0 where there is none."""
        return int(self.lengths.max(initial=0))

    def places_of(self, string: bytes) -> Integers:
        """Return the places of a string, in order.

        >>> ByteColumn.of([b"anna", b"ben", b"anna"]).places_of(b"anna").tolist()
        [0, 2]
        """
        places = np.flatnonzero(self.lengths == len(string))
        for back, byte in enumerate(reversed(string[-_COMPARED_AT_ONCE:]), start=1):
            if not len(places):
                break
            places = places[self.content[self.begins[places] + (len(string) - back)] == byte]
        if len(string) > _COMPARED_AT_ONCE:
            same = (self[place] == string for place in places.tolist())
            places = places[np.fromiter(same, dtype=bool, count=len(places))]
        return places

    def replaced(self, places: Integers, strings: "ByteColumn") -> "ByteColumn":
        """Return the column with other strings at these places.

        >>> list(ByteColumn.of([b"anna", b"ben"]).replaced(np.array([1]), ByteColumn.of([b"bo"])))
        [b'anna', b'bo']
        """
        begins, lengths = self.begins.copy(), self.lengths.copy()
        begins[places] = len(self.content) + strings.begins
        lengths[places] = strings.lengths
        return ByteColumn(np.concatenate([self.content, strings.content]), begins, lengths)

    def joined(self) -> bytes:
        """Return all strings one after the other.

        >>> ByteColumn.of([b"anna", b"ben"]).taken(np.array([1, 0, 1])).joined()
        b'benannaben'
        """
        if not len(self):
            return b""
        ends, first = self.begins + self.lengths, int(self.begins[0])
        if np.array_equal(self.begins[1:], ends[:-1]):
            return self.content[first : int(ends[-1])].tobytes()
        return b"".join(self)

    def __iter__(self) -> Iterator[bytes]:
        content, begins = self.content.tobytes(), self.begins.tolist()
        ends = (self.begins + self.lengths).tolist()
        return iter([content[begin:end] for begin, end in zip(begins, ends, strict=True)])

    def cell(self, place: int) -> bytes:
        begin = self.begins[place]
        return self.content[begin : begin + self.lengths[place]].tobytes()


def bytes_of(content: bytes) -> Bytes:
    """Return bytes as an array, not copied."""
    return np.frombuffer(content, dtype=np.uint8)


def table_of_integers(numbers: Integers, before: bytes = b"") -> Bytes:
    """Return a prefix and eight bytes, the highest first, for each number: one row each.

    >>> table_of_integers(np.array([1, 258]), b"at").shape
    (2, 10)
    """
    table = np.empty((len(numbers), len(before) + LARGEST_FIRST.itemsize), dtype=np.uint8)
    table[:, : len(before)] = bytes_of(before)
    table[:, len(before) :] = numbers.astype(LARGEST_FIRST)[:, None].view(np.uint8)
    return table
