"""Write releases of symbols as JSON in one call: a start, symbols between commas, and an end."""

import numpy as np

from fugu.operators.byte_column import ByteColumn, Bytes, bytes_of
from fugu.operators.compiled.compiling import entry_point, read_only
from fugu.operators.compiled_bytes import put_bytes
from fugu.operators.mechanism import Array, Integers

_COMMA = ord(",")
_OUTSIDE = -1
"""No length is this one."""


def write_symbols(
    start: bytes, symbols: ByteColumn, items: Array, ends: ByteColumn, places: Integers
) -> ByteColumn | None:
    """Write a row of items, which are numbers of symbols, and the end at the place of each row.

    Items below 0 are left out. Return None where another item or a place is outside its column.

    >>> symbols, ends = ByteColumn.of([b'"rest"', b'"light"']), ByteColumn.of([b"]}"])
    >>> items, places = np.array([[0, 1], [-1, 1]]), np.array([0, 0])
    >>> written = write_symbols(b'{"zone":[', symbols, items, ends, places)
    >>> list(written or [])
    [b'{"zone":["rest","light"]}', b'{"zone":["light"]}']
    """
    items, places = read_only(items), read_only(places)
    lengths = np.empty(len(items), dtype=np.int64)
    total = _measure(len(start), symbols.lengths, items, ends.lengths, places, lengths)
    if total == _OUTSIDE:
        return None
    begins, content = lengths.cumsum() - lengths, np.empty(total, dtype=np.uint8)
    symbol_columns = symbols.content, symbols.begins, symbols.lengths
    end_columns = ends.content, ends.begins, ends.lengths
    _write(bytes_of(start), *symbol_columns, items, *end_columns, places, content)
    return ByteColumn(content, begins, lengths)


@entry_point
def _measure(
    start: int,
    symbol_lengths: Integers,
    items: Integers,
    end_lengths: Integers,
    places: Integers,
    lengths: Integers,
) -> int:
    """Measure what each row will take; return the sum."""
    total = 0
    for row in range(len(items)):
        if not 0 <= places[row] < len(end_lengths):
            return _OUTSIDE
        length = start + end_lengths[places[row]]
        commas = -1
        for column in range(items.shape[1]):
            item = items[row, column]
            if item >= len(symbol_lengths):
                return _OUTSIDE
            if item >= 0:
                length += symbol_lengths[item]
                commas += 1
        lengths[row] = length + max(commas, 0)
        total += lengths[row]
    return total


@entry_point
def _write(
    start: Bytes,
    symbols: Bytes,
    symbol_begins: Integers,
    symbol_lengths: Integers,
    items: Integers,
    ends: Bytes,
    end_begins: Integers,
    end_lengths: Integers,
    places: Integers,
    content: Bytes,
) -> None:
    at = 0
    for row in range(len(items)):
        at = put_bytes(content, at, start, 0, len(start))
        first = at
        for column in range(items.shape[1]):
            item = items[row, column]
            if item < 0:
                continue
            if at > first:
                content[at] = _COMMA
                at += 1
            begin = symbol_begins[item]
            at = put_bytes(content, at, symbols, begin, begin + symbol_lengths[item])
        begin = end_begins[places[row]]
        at = put_bytes(content, at, ends, begin, begin + end_lengths[places[row]])
