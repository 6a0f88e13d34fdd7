"""Write numbers with a fixed number of decimals in one call, as `%.2f` does: correctly rounded.

A double is a whole number over a power of two. Its decimals come out of that one by one, in
integers that never overflow, and what is left over says how to round: to nearest, ties to even.
"""

import numpy as np

from fugu.operators.byte_column import ByteColumn, Bytes, bytes_of
from fugu.operators.compiled.compiling import entry_point, part, read_only
from fugu.operators.compiled_bytes import put_bytes
from fugu.operators.mechanism import Floats, Integers

UNWRITTEN = -1
"""The length of a number that is left to the caller."""

_MANTISSA_BITS = 52
_EXPONENTS = 2047
_POINT_AT = 1075
"""The stored exponent of doubles whose mantissa, with its first bit, is the number itself."""
_MOST_PLACES = 59
"""With so many binary places, ten times a fraction is below 2^63."""
_MOST_DIGITS = 18
_SIGN_CARRY_AND_POINT = 3
_MINUS, _POINT, _ZERO = b"-.0"


def write_numbers(
    start: bytes, numbers: Floats, decimals: int, ends: ByteColumn, places: Integers
) -> ByteColumn:
    """Write each number between a start and the end at its place.

    `UNWRITTEN` are numbers that are not finite, not below 2^53 or 10^18 of their last decimals, or
    other than 0 and below 2^-7; and all that have a place outside the ends.

    >>> ends = ByteColumn.of([b"}"])
    >>> list(write_numbers(b"{", np.array([2.5, -0.04]), 1, ends, np.array([0, 0])))
    [b'{2.5}', b'{-0.0}']
    """
    count = len(numbers)
    longest = len(start) + _MOST_DIGITS + _SIGN_CARRY_AND_POINT + ends.longest
    content = np.empty(count * longest, dtype=np.uint8)
    begins, lengths = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    bits, places = read_only(numbers.view(np.int64)), read_only(places)
    columns = bytes_of(start), bits, decimals, ends.content, ends.begins, ends.lengths
    size = _write(*columns, places, content, begins, lengths)
    return ByteColumn(content[:size], begins, lengths)


@entry_point
def _write(
    start: Bytes,
    bits: Integers,
    decimals: int,
    ends: Bytes,
    end_begins: Integers,
    end_lengths: Integers,
    places: Integers,
    content: Bytes,
    begins: Integers,
    lengths: Integers,
) -> int:
    at = 0
    for row in range(len(bits)):
        begins[row], lengths[row] = at, UNWRITTEN
        steps, end = _in_last_decimals(bits[row], decimals), places[row]
        if steps < 0 or not 0 <= end < len(end_lengths):
            continue
        to = put_bytes(content, at, start, 0, len(start))
        if bits[row] < 0:
            content[to] = _MINUS
            to += 1
        to = put_decimal(content, to, steps, decimals)
        to = put_bytes(content, to, ends, end_begins[end], end_begins[end] + end_lengths[end])
        lengths[row] = to - at
        at = to
    return at


@part
def double_parts(bits: int) -> tuple[int, int, int]:
    """Return the whole part of a double without its sign, the fraction, and over which power of two
    it is; the whole part is `UNWRITTEN` where ten times the fraction might overflow."""
    exponent = (bits >> _MANTISSA_BITS) & _EXPONENTS
    mantissa = bits & ((1 << _MANTISSA_BITS) - 1)
    if exponent == 0 and mantissa == 0:
        return 0, 0, 0
    places = _POINT_AT - exponent
    if not 0 <= places <= _MOST_PLACES:
        return UNWRITTEN, 0, 0
    mantissa |= 1 << _MANTISSA_BITS
    return mantissa >> places, mantissa & ((1 << places) - 1), places


@part
def _in_last_decimals(bits: int, decimals: int) -> int:
    """Return how many units of the last decimal a double is without its sign, or `UNWRITTEN`."""
    number, rest, places = double_parts(bits)
    if number == 0 and rest == 0:
        return 0
    if number < 0:
        return UNWRITTEN
    mask = (1 << places) - 1
    if number >= 10 ** (_MOST_DIGITS - decimals):
        return UNWRITTEN
    for _ in range(decimals):
        rest *= 10
        number = 10 * number + (rest >> places)
        rest &= mask
    twice = 2 * rest
    if twice > mask + 1 or (twice == mask + 1 and number & 1):
        number += 1
    return number


@part
def put_decimal(text: Bytes, at: int, number: int, decimals: int) -> int:
    """Write a whole number of units of the last decimal; return where it ends."""
    digits, before = 1, number // 10
    while before > 0 or digits <= decimals:
        digits += 1
        before //= 10
    point = at + digits - decimals
    end = at + digits + min(decimals, 1)
    for place in range(end - 1, at - 1, -1):
        if place == point and decimals > 0:
            text[place] = _POINT
        else:
            text[place] = _ZERO + number % 10
            number //= 10
    return end
