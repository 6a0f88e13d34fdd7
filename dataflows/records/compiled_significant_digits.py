"""Write numbers with six significant digits in one call, as `%.6g` does: correctly rounded.

See `compiled_numbers` for how decimals come out of a double.
"""

import numpy as np

from fugu.dataflows.records.compiled_numbers import UNWRITTEN, double_parts, put_decimal
from fugu.operators.byte_column import ByteColumn, Bytes
from fugu.operators.compiled.compiling import entry_point, part, read_only
from fugu.operators.mechanism import Floats, Integers

_LEAST, _MOST = 10**5, 10**6
"""Whole numbers with six digits are from the one to below the other."""
_LONGEST = 16
"""More bytes than a sign, a zero, a point, two more zeros and seven digits."""
_MINUS = ord("-")


def write_significant(numbers: Floats) -> ByteColumn:
    """Write each number.

    `UNWRITTEN` are those that are not finite, not below 10^6 when they are rounded, or other than 0
    and below 2^-7.

    >>> list(write_significant(np.array([935.17954, -0.5, 0.03662487])))
    [b'935.18', b'-0.5', b'0.0366249']
    """
    count = len(numbers)
    content = np.empty(count * _LONGEST, dtype=np.uint8)
    begins, lengths = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    size = _write(read_only(numbers.view(np.int64)), content, begins, lengths)
    return ByteColumn(content[:size], begins, lengths)


@entry_point
def _write(bits: Integers, content: Bytes, begins: Integers, lengths: Integers) -> int:
    at = 0
    for row in range(len(bits)):
        begins[row], lengths[row] = at, UNWRITTEN
        number, decimals = _in_digits(bits[row])
        if number < 0:
            continue
        to = at
        if bits[row] < 0:
            content[to] = _MINUS
            to += 1
        to = put_decimal(content, to, number, decimals)
        lengths[row] = to - at
        at = to
    return at


@part
def _in_digits(bits: int) -> tuple[int, int]:
    """Return a double without its sign as a whole number of units of its last decimal, and how many
    decimals it has; or `UNWRITTEN`."""
    number, rest, places = double_parts(bits)
    if number == 0 and rest == 0:
        return 0, 0
    if not 0 <= number < _MOST:
        return UNWRITTEN, 0
    decimals, mask = 0, (1 << places) - 1
    while number < _LEAST:
        rest *= 10
        number = 10 * number + (rest >> places)
        rest &= mask
        decimals += 1
    twice = 2 * rest
    if twice > mask + 1 or (twice == mask + 1 and number & 1):
        number += 1
    if number == _MOST and decimals == 0:
        return UNWRITTEN, 0
    while decimals > 0 and number % 10 == 0:
        number //= 10
        decimals -= 1
    return number, decimals
