"""Find payloads that are written as orjson would write them."""

import numpy as np

from fugu.dataflows.records.scanned.compiled_numerals import DECIMAL, INTEGER, MINUS, POINT, ZERO
from fugu.dataflows.records.scanned.compiled_objects import FALSE, NULL, TEXT, TRUE, Flags
from fugu.operators.byte_column import Bytes
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.mechanism import Integers

_ONE = np.uint64(1)
_SMALLEST = np.uint64(3)
"""Zeros behind the point of 0.0001, which is written without an exponent."""


@part
def _is_shortest(content: Bytes, begin: np.uint64, end: np.uint64) -> bool:
    """Return whether a `DECIMAL` has no zero too many at its end, and no need for an exponent."""
    first = begin + _ONE if content[begin] == MINUS else begin
    point = first
    while content[point] != POINT:
        point += _ONE
    if content[end - _ONE] == ZERO:
        return bool(end - point == _ONE + _ONE)
    zeros = point + _ONE
    while content[zeros] == ZERO:
        zeros += _ONE
    return bool(content[first] != ZERO or zeros - point - _ONE <= _SMALLEST)


@entry_point
def sift_payloads(
    content: Bytes,
    kinds: Bytes,
    begins: Integers,
    ends: Integers,
    sure: Flags,
    takes_null: bool,
    longest: int,
) -> None:
    """Take out of `sure` what is longer, or not sure to be written again as it is."""
    for row in range(len(kinds)):
        if sure[row]:
            kind, begin, end = kinds[row], np.uint64(begins[row]), np.uint64(ends[row])
            if kind == DECIMAL:
                sure[row] = _is_shortest(content, begin, end)
            elif kind == NULL:
                sure[row] = takes_null
            else:
                sure[row] = kind in (TEXT, INTEGER, TRUE, FALSE)
            if ends[row] - begins[row] > longest:
                sure[row] = False
