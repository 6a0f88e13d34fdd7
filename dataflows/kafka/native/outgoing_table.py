"""Lay out what goes out as a table of words, a row for each record, for compiled code to read.

A row says where value, key and headers of a record lie in memory, and how long they are. The names
of headers are the same in all rows: records whose headers have other names are in another table.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, groupby
from typing import NamedTuple

import numpy as np

from fugu.dataflows.base.batches import Header, Outgoing
from fugu.dataflows.base.columns import NONE, HeaderColumns, OptionalByteColumn
from fugu.operators.byte_column import ByteColumn, Bytes, bytes_of
from fugu.operators.compiled.compiling import entry_point
from fugu.operators.integer_column import column_of
from fugu.operators.mechanism import Integers

Content = ByteColumn | OptionalByteColumn | bytes
"""Strings, one or more for each record, or one for all records."""

_Run = tuple[int, tuple[str, ...], list[tuple[int, ByteColumn | bytes]]]
"""Its end, the names and contents of headers, how many a record has, and which ones."""

VALUE, VALUE_LENGTH, KEY, KEY_LENGTH, TIMESTAMP, HEADERS = range(6)
"""Columns of a table. From `HEADERS` on there are two for each header: place and length."""

_MOST_NAMES = 64


class OutgoingTable(NamedTuple):
    """Hold where records lie, and what keeps them there.

    `names` has a row for each header: place and length of its name. A key or value that is none
    is at 0.
    """

    words: Integers
    names: Integers
    kept: list[Bytes]


def tables_of(outgoing: Outgoing) -> Iterator[OutgoingTable]:
    """Yield tables of consecutive records, until all are in one."""
    count = len(outgoing.values)
    others = outgoing.keys, outgoing.timestamps, outgoing.headers
    if any(len(column) != count for column in others):
        raise ValueError("the columns of what goes out differ in length")
    keys = OptionalByteColumn.of(outgoing.keys)
    values: ByteColumn | OptionalByteColumn  # only who means it hands over a column with gaps
    if isinstance(outgoing.values, OptionalByteColumn):
        values = outgoing.values
    else:
        values = ByteColumn.of(outgoing.values)
    timestamps = column_of(outgoing.timestamps)
    begin = 0
    for end, names, contents in _with_same_names(outgoing.headers):
        words = np.empty((end - begin, HEADERS + 2 * len(names)), dtype=np.int64)
        words[:, TIMESTAMP] = timestamps[begin:end]
        name_words, name_content = _places_of(names)
        kept = [name_content]
        kept.append(_put(words, VALUE, 1, values[begin:end]))
        kept.append(_put(words, KEY, 1, keys[begin:end]))
        column = HEADERS
        for width, content in contents:
            kept.append(_put(words, column, width, content))
            column += 2 * width
        yield OutgoingTable(words, name_words, kept)
        begin = end


def _with_same_names(headers: Sequence[list[Header]]) -> Iterator[_Run]:
    """Yield the ends of runs of records whose headers have the same names, and what is in them."""
    if isinstance(headers, HeaderColumns):
        yield len(headers), tuple(headers.contents), [(1, c) for c in headers.contents.values()]
        return
    names = _names_of(headers[0])
    flat = list(chain.from_iterable(headers))
    alike = set(map(len, headers)) == {len(names)} and _names_of(flat) == names * len(headers)
    end = 0
    for run_names, run in [(names, headers)] if alike else groupby(headers, _names_of):
        rows = list(run)
        end += len(rows)
        contents = ByteColumn.of([content for _, content in chain.from_iterable(rows)])
        yield end, run_names, [(len(run_names), contents)]


def _names_of(headers: list[Header]) -> tuple[str, ...]:
    return tuple([name for name, _ in headers])


@lru_cache(maxsize=_MOST_NAMES)
def _places_of(names: tuple[str, ...]) -> tuple[Integers, Bytes]:
    words = np.empty((len(names), 2), dtype=np.int64)
    return words, _put(words, 0, 1, ByteColumn.of([name.encode() for name in names]))


def _put(words: Integers, column: int, width: int, strings: Content) -> Bytes:
    """Write where strings lie, some to each row; return what they lie in."""
    if isinstance(strings, bytes):
        content = bytes_of(strings)
        words[:, column], words[:, column + 1] = content.ctypes.data, len(content)
        return content
    content = np.ascontiguousarray(strings.content)
    begins, lengths = _read_only(strings.begins), _read_only(strings.lengths)
    place, may_be_none = content.ctypes.data, isinstance(strings, OptionalByteColumn)
    where = words, column, width, place, len(content)
    if not _put_columns(*where, begins, lengths, may_be_none):
        raise ValueError("a string of what goes out does not lie in its column")
    return content


def _read_only(integers: Integers) -> Integers:
    """Return one kind of array, so that code is compiled for one kind only."""
    view = np.ascontiguousarray(integers, dtype=np.int64).view()
    view.flags.writeable = False
    return view


@entry_point
def _put_columns(
    words: Integers,
    column: int,
    width: int,
    address: int,
    size: int,
    begins: Integers,
    lengths: Integers,
    may_be_none: bool,
) -> bool:
    count = len(words) * width
    if len(begins) != count or len(lengths) != count or column + 2 * width > words.shape[1]:
        return False
    for number in range(count):
        begin, length = begins[number], lengths[number]
        row, at = number // width, column + 2 * (number % width)
        if may_be_none and length == NONE:
            words[row, at] = words[row, at + 1] = 0
        elif 0 <= begin <= size and 0 <= length <= size - begin:
            words[row, at], words[row, at + 1] = address + begin, length
        else:
            return False
    return True
