"""Join columns of strings to rows, one column after the other."""

import numpy as np

from fugu.operators.byte_column import ByteColumn, Bytes
from fugu.operators.compiled.compiling import entry_point
from fugu.operators.compiled_bytes import put_bytes
from fugu.operators.mechanism import Integers


def join_columns(columns: list[ByteColumn]) -> ByteColumn:
    """Return the strings of each row of columns, which have one length, joined.

    >>> first, second = ByteColumn.of([b"a", b"b"]), ByteColumn.of([b"1", b"23"])
    >>> list(join_columns([first, second]))
    [b'a1', b'b23']
    """
    lengths = np.sum([column.lengths for column in columns], axis=0)
    begins = lengths.cumsum() - lengths
    content = np.empty(int(lengths.sum()), dtype=np.uint8)
    ends = begins.copy()
    for column in columns:
        _put_behind(column.content, column.begins, column.lengths, content, ends)
    return ByteColumn(content, begins, lengths)


@entry_point
def _put_behind(
    strings: Bytes, begins: Integers, lengths: Integers, content: Bytes, ends: Integers
) -> None:
    """Put the string of each row behind what the row has, and move its end."""
    for row in range(len(ends)):
        begin = begins[row]
        ends[row] = put_bytes(content, ends[row], strings, begin, begin + lengths[row])
