"""Lay out what goes out as a table of words, a row for each record, for compiled code to read.

A row says where value, key and headers of a record lie in memory, and how long they are. The names
of headers are the same in all rows: records whose headers have other names are in another table.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

import numpy as np

from fugu.dataflows.base.batches import Header, Outgoing
from fugu.dataflows.base.columns import NONE, HeaderColumns, OptionalByteColumn
from fugu.operators.byte_column import ByteColumn, Bytes, bytes_of
from fugu.operators.compiled.compiling import entry_point
from fugu.operators.integer_column import column_of
from fugu.operators.mechanism import Integers

Content = ByteColumn | OptionalByteColumn

VALUE, VALUE_LENGTH, KEY, KEY_LENGTH, TIMESTAMP, HEADERS = range(6)
"""Columns of a table. From `HEADERS` on there are two for each header: place and length."""

_SOMEWHERE = np.zeros(1, dtype=np.uint8)
_MOST_NAMES = 64


class OutgoingTable(NamedTuple):
    """Hold where records lie, and what keeps them there.

    `names` has a row for each header: place and length of its name. A key that is none is at 0.
    """

    words: Integers
    names: Integers
    kept: list[Bytes]


def tables_of(outgoing: Outgoing) -> Iterator[OutgoingTable]:
    """Yield tables of consecutive records, until all are in one."""
    count = len(outgoing.values)
    if any(len(column) != count for column in (outgoing.keys, outgoing.timestamps)):
        raise ValueError("the columns of what goes out differ in length")
    if len(outgoing.headers) != count:
        raise ValueError("the columns of what goes out differ in length")
    values, keys = ByteColumn.of(outgoing.values), OptionalByteColumn.of(outgoing.keys)
    timestamps = column_of(outgoing.timestamps)
    begin = 0
    for end, names, contents in _with_same_names(outgoing.headers):
        rows = slice(begin, end)
        yield _table(values[rows], keys[rows], timestamps[rows], names, contents)
        begin = end


def _with_same_names(
    headers: Sequence[list[Header]],
) -> Iterator[tuple[int, tuple[str, ...], list[ByteColumn | bytes]]]:
    """Yield the ends of runs of records whose headers have the same names, and their columns."""
    if isinstance(headers, HeaderColumns):
        yield len(headers), tuple(headers.contents), list(headers.contents.values())
        return
    end = 0
    for names, run in groupby(headers, lambda row: tuple(name for name, _ in row)):
        rows = [[content for _, content in row] for row in run]
        end += len(rows)
        yield end, names, [ByteColumn.of(column) for column in zip(*rows, strict=True)]


def _table(
    values: ByteColumn,
    keys: OptionalByteColumn,
    timestamps: Integers,
    names: tuple[str, ...],
    contents: Iterable[ByteColumn | bytes],
) -> OutgoingTable:
    words = np.empty((len(values), HEADERS + 2 * len(names)), dtype=np.int64)
    words[:, TIMESTAMP] = timestamps
    name_words, name_content = _places_of(names)
    kept = [name_content, _put(words, VALUE, values), _put(words, KEY, keys)]
    for number, content in enumerate(contents):
        column = HEADERS + 2 * number
        if isinstance(content, bytes):
            kept.append(bytes_of(content))
            words[:, column], words[:, column + 1] = _address_of(kept[-1]), len(content)
        else:
            kept.append(_put(words, column, content))
    return OutgoingTable(words, name_words, kept)


@lru_cache(maxsize=_MOST_NAMES)
def _places_of(names: tuple[str, ...]) -> tuple[Integers, Bytes]:
    column = ByteColumn.of([name.encode() for name in names])
    words = np.empty((len(names), 2), dtype=np.int64)
    return words, _put(words, 0, column)


def _put(words: Integers, column: int, strings: Content) -> Bytes:
    """Write where strings lie, and how long they are; return what they lie in."""
    begins, lengths = _read_only(strings.begins), _read_only(strings.lengths)
    content = strings.content
    if not _put_column(words, column, _address_of(content), len(content), begins, lengths):
        raise ValueError("a string of what goes out does not lie in its column")
    return content


def _address_of(content: Bytes) -> int:
    """Return where bytes begin; what is empty is somewhere, too, since none is nowhere."""
    return int((content if content.size else _SOMEWHERE).ctypes.data)


def _read_only(integers: Integers) -> Integers:
    """Return one kind of array, so that code is compiled for one kind only."""
    view = np.ascontiguousarray(integers, dtype=np.int64).view()
    view.flags.writeable = False
    return view


@entry_point
def _put_column(
    words: Integers, column: int, address: int, size: int, begins: Integers, lengths: Integers
) -> bool:
    if len(begins) != len(words) or len(lengths) != len(words):
        return False
    for row in range(len(words)):
        begin, length = begins[row], lengths[row]
        if length == NONE:
            words[row, column] = words[row, column + 1] = 0
        elif 0 <= begin <= size and 0 <= length <= size - begin:
            words[row, column], words[row, column + 1] = address + begin, length
        else:
            return False
    return True
