"""Hold columns: arrays of numbers or of strings of bytes, and what keyed hashes are made of."""

import struct
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, ClassVar, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from fugu.operators.mechanism import Array, Integers

Cell = TypeVar("Cell")


class Column(Sequence[Cell]):
    """Present arrays as a sequence, which equals every sequence with the same cells."""

    __slots__ = ()
    __hash__: ClassVar[None]  # type: ignore[assignment]

    @abstractmethod
    def taken(self, index: Integers | slice) -> Self:
        """Return the cells at these places, in this order, as a column of the same kind."""

    @abstractmethod
    def cell(self, place: int) -> Cell:
        """Return the cell at this place as Python's object."""

    @overload
    def __getitem__(self, index: int) -> Cell: ...

    @overload
    def __getitem__(self, index: slice) -> Self: ...

    def __getitem__(self, index: int | slice) -> Cell | Self:
        return self.taken(index) if isinstance(index, slice) else self.cell(index)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and list(self) == list(other)


def selected(cells: Sequence[Cell], places: Integers | Sequence[int]) -> Sequence[Cell]:
    """Return the cells at these places, as a column of the same kind or else as a list.

    >>> selected([5, 6, 7], [2, 0])
    [7, 5]
    """
    index = np.asarray(places, dtype=np.int64)
    if isinstance(cells, Column):
        return cells.taken(index)
    return [cells[place] for place in index.tolist()]


Columns = Mapping[str, Array]


def taken(columns: Columns, index: Array | slice) -> dict[str, Array]:
    """Return some rows of every column.

    >>> taken({"spent": np.array([3, 5, 8])}, np.array([2, 0]))
    {'spent': array([8, 3])}
    """
    return {name: column[index] for name, column in columns.items()}


def copied(columns: Columns) -> dict[str, Array]:
    """Return a copy of every column, which may be written to."""
    return {name: column.copy() for name, column in columns.items()}


def put(columns: Columns, index: Array | slice, part: Columns) -> None:
    """Write the columns of `part` into these rows, in place; other columns stay as they are."""
    for name, column in part.items():
        columns[name][index] = column


def chosen(which: Array, yes: Columns, no: Columns) -> dict[str, Array]:
    """Return the columns of `yes`, with the rows of `no` where `which` is false.

    >>> chosen(np.array([True, False]), {"held": np.array([1, 1])}, {"held": np.array([0, 0])})
    {'held': array([1, 0])}
    """
    return {name: where_rows(which, column, no[name]) for name, column in yes.items()}


def where_rows(which: Array, yes: Array, no: Array) -> Array:
    """Return `np.where` row by row, for arrays of any number of axes."""
    return np.where(which.reshape(-1, *[1] * (yes.ndim - 1)), yes, no)


def joined(parts: Sequence[Columns]) -> dict[str, Array]:
    """Return the rows of all parts, one part after the other; all have the same columns."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def objects(cells: Sequence[bytes | None]) -> Array:
    """Return a column of objects, one for each cell."""
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return column


class IntegerColumn(Column[int]):
    """Present an array of whole numbers as a sequence, whose elements are Python's integers.

    >>> column = IntegerColumn(np.array([3, 5]))
    >>> type(column[1]), list(column), max(column)
    (<class 'int'>, [3, 5], 5)
    """

    __slots__ = ("array",)

    def __init__(self, array: Integers) -> None:
        self.array = array

    def taken(self, index: Integers | slice) -> "IntegerColumn":
        return IntegerColumn(self.array[index])

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[int]:
        numbers: list[int] = self.array.tolist()
        return iter(numbers)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.array, dtype=dtype, copy=copy)

    def cell(self, place: int) -> int:
        return int(self.array[place])


def column_of(numbers: Sequence[int]) -> Integers:
    """Turn a sequence of integers into an array; one that is an array already is not copied.

    >>> column_of(range(3, 6)).tolist(), column_of([3, 5]).tolist()
    ([3, 4, 5], [3, 5])
    """
    if isinstance(numbers, IntegerColumn):
        return numbers.array
    if isinstance(numbers, range):
        return np.arange(numbers.start, numbers.stop, numbers.step, dtype=np.int64)
    return np.array(numbers, dtype=np.int64)


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


DIGEST_BYTES = 32
Field = bytes | str | int

_INTEGER = struct.Struct(">q")
_INTEGER_LENGTH = struct.pack("<I", _INTEGER.size)


def encode_fields(*fields: Field) -> bytes:
    """Encode a sequence of fields injectively.

    Each is u32le(length) ‖ bytes. Integers are 8-byte big-endian two's complement, text is UTF-8.

    >>> encode_fields("ab", 1).hex()
    '020000006162080000000000000000000001'
    """
    return b"".join(map(encode_field, fields))


def encode_field(value: Field) -> bytes:
    """Encode one field."""
    if isinstance(value, int):
        return _INTEGER_LENGTH + _INTEGER.pack(value)
    content = value.encode() if isinstance(value, str) else value
    return len(content).to_bytes(4, "little") + content


def encode_each(numbers: Integers, before: bytes = b"") -> ByteColumn:
    """Encode a number as a field behind `before`, for each of the numbers."""
    return ByteColumn.of_table(table_of_fields(numbers, before))


def encode_rows(count: int, *columns: Integers) -> ByteColumn:
    """Encode a number of each column as fields, for each of so many rows.

    >>> encode_rows(2, np.array([1, 2]), np.array([3, 4]))[1] == encode_fields(2, 4)
    True
    """
    nothing = np.empty((count, 0), dtype=np.uint8)
    return ByteColumn.of_table(np.hstack([nothing, *map(table_of_fields, columns)]))


def table_of_fields(numbers: Integers, before: bytes = b"") -> Bytes:
    """Return the same as the rows of a table."""
    return table_of_integers(numbers, before + _INTEGER_LENGTH)


def digest_of(*fields: Field) -> bytes:
    """Return 32 bytes that identify a sequence of fields."""
    return blake2b(encode_fields(*fields), digest_size=DIGEST_BYTES).digest()


def binding_digest(*fields: Field) -> bytes:
    """Return a 32-byte digest of fields, such as the exact data that a draw is applied to."""
    return blake2b(encode_fields(*fields), digest_size=DIGEST_BYTES).digest()
