"""Columns of records that may lack something, and of headers, without an object for each record."""

from collections.abc import Iterator, Sequence
from typing import TypeVar, cast, overload

import numpy as np

from fugu.operators.byte_column import ByteColumn, Bytes
from fugu.operators.column import Column
from fugu.operators.integer_column import IntegerColumn
from fugu.operators.mechanism import Integers

NONE = -1
"""The length of what is not there."""

Cell = TypeVar("Cell")


class OptionalByteColumn(Column[bytes | None]):
    """Present strings of bytes as `ByteColumn` does, None where the length is `NONE`.

    >>> column = OptionalByteColumn.of([b"anna", None])
    >>> list(column), column.present is None
    ([b'anna', None], True)
    """

    __slots__ = ("begins", "content", "lengths")

    def __init__(self, content: Bytes, begins: Integers, lengths: Integers) -> None:
        self.content = content.view()
        self.content.flags.writeable = False
        self.begins = np.ascontiguousarray(begins)
        self.lengths = np.ascontiguousarray(lengths)

    @classmethod
    def of(cls, parts: Sequence[bytes | None]) -> "OptionalByteColumn":
        """Join strings in their order; a column stays what it is."""
        if isinstance(parts, OptionalByteColumn):
            return parts
        if isinstance(parts, ByteColumn) or None not in parts:
            all_there = ByteColumn.of(cast(Sequence[bytes], parts))
            return cls(all_there.content, all_there.begins, all_there.lengths)
        there = ByteColumn.of([part or b"" for part in parts])
        absent = np.array([part is None for part in parts])
        return cls(there.content, there.begins, np.where(absent, NONE, there.lengths))

    @property
    def present(self) -> ByteColumn | None:
        """Return the strings, if none of them is missing."""
        if (self.lengths == NONE).any():
            return None
        return ByteColumn(self.content, self.begins, self.lengths)

    def taken(self, index: Integers) -> "OptionalByteColumn":
        """Return what is at these places, in this order."""
        return OptionalByteColumn(self.content, self.begins[index], self.lengths[index])

    def __len__(self) -> int:
        return len(self.begins)

    def __iter__(self) -> Iterator[bytes | None]:
        if (present := self.present) is not None:
            return iter(present)
        there = ByteColumn(self.content, self.begins, np.maximum(self.lengths, 0))
        lengths = self.lengths.tolist()
        return (None if n == NONE else part for part, n in zip(there, lengths, strict=True))

    @overload
    def __getitem__(self, index: int) -> bytes | None: ...

    @overload
    def __getitem__(self, index: slice) -> "OptionalByteColumn": ...

    def __getitem__(self, index: int | slice) -> "bytes | OptionalByteColumn | None":
        if isinstance(index, slice):
            return OptionalByteColumn(self.content, self.begins[index], self.lengths[index])
        begin, length = self.begins[index], self.lengths[index]
        return None if length == NONE else self.content[begin : begin + length].tobytes()


class HeaderColumns(Column[list[tuple[str, bytes]]]):
    """Present headers of many records, all with the same names in the same order.

    What a name has is a column, or one string for all records.

    >>> headers = HeaderColumns(2, {"id": ByteColumn.of([b"1", b"2"]), "by": b"fugu"})
    >>> headers[1]
    [('id', b'2'), ('by', b'fugu')]
    """

    __slots__ = ("_count", "contents")

    def __init__(self, count: int, contents: dict[str, ByteColumn | bytes]) -> None:
        self._count = count
        self.contents = contents

    def taken(self, index: Integers) -> "HeaderColumns":
        """Return the headers of the records at these places, in this order."""
        return HeaderColumns(
            len(index),
            {
                name: content if isinstance(content, bytes) else content.taken(index)
                for name, content in self.contents.items()
            },
        )

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[list[tuple[str, bytes]]]:
        columns = [
            [content] * self._count if isinstance(content, bytes) else list(content)
            for content in self.contents.values()
        ]
        if not columns:
            return ([] for _ in range(self._count))
        names = list(self.contents)
        return (list(zip(names, row, strict=True)) for row in zip(*columns, strict=True))

    @overload
    def __getitem__(self, index: int) -> list[tuple[str, bytes]]: ...

    @overload
    def __getitem__(self, index: slice) -> "HeaderColumns": ...

    def __getitem__(self, index: int | slice) -> "list[tuple[str, bytes]] | HeaderColumns":
        if isinstance(index, slice):
            return self.taken(np.arange(self._count)[index])
        return [
            (name, content if isinstance(content, bytes) else content[index])
            for name, content in self.contents.items()
        ]


def selected(column: Sequence[Cell], places: Integers | Sequence[int]) -> Sequence[Cell]:
    """Return the cells of any column at these places, as a column of the same kind or a list.

    >>> selected([5, 6, 7], [2, 0])
    [7, 5]
    """
    if isinstance(column, ByteColumn | OptionalByteColumn | IntegerColumn | HeaderColumns):
        return cast(Sequence[Cell], column.taken(np.asarray(places, dtype=np.int64)))
    return [column[place] for place in np.asarray(places, dtype=np.int64).tolist()]
