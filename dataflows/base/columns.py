"""Columns of records that may lack something, and of headers, without an object for each record."""

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np

from fugu.operators.columns import ByteColumn, Column, SpanColumn
from fugu.operators.mechanism import Integers

NONE = -1
"""The length of what is not there."""


class OptionalByteColumn(SpanColumn[bytes | None]):
    """Present strings of bytes as `ByteColumn` does, None where the length is `NONE`.

    >>> column = OptionalByteColumn.of([b"anna", None])
    >>> list(column), column.present is None
    ([b'anna', None], True)
    """

    __slots__ = ()

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

    def __iter__(self) -> Iterator[bytes | None]:
        if (present := self.present) is not None:
            return iter(present)
        there = ByteColumn(self.content, self.begins, np.maximum(self.lengths, 0))
        lengths = self.lengths.tolist()
        return (None if n == NONE else part for part, n in zip(there, lengths, strict=True))

    def cell(self, place: int) -> bytes | None:
        begin, length = self.begins[place], self.lengths[place]
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

    def taken(self, index: Integers | slice) -> "HeaderColumns":
        return HeaderColumns(
            len(range(self._count)[index] if isinstance(index, slice) else index),
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

    def cell(self, place: int) -> list[tuple[str, bytes]]:
        return [
            (name, content if isinstance(content, bytes) else content[place])
            for name, content in self.contents.items()
        ]
