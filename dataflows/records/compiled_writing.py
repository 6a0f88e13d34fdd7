"""Write columns of numbers and symbols as JSON in one call, correctly rounded."""

import numpy as np

from fugu.operators.columns import ByteColumn, Bytes, bytes_of
from fugu.operators.compiled.compiling import entry_point, part, read_only
from fugu.operators.compiled_blake2b import put_bytes
from fugu.operators.mechanism import Array, Floats, Integers


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

    A double is a whole number over a power of two. Its decimals come out of that one by one, in
    integers that never overflow, and what is left over says how to round: to nearest, ties to even.

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


_LEAST, _MOST = 10**5, 10**6
"""Whole numbers with six digits are from the one to below the other."""
_LONGEST = 16
"""More bytes than a sign, a zero, a point, two more zeros and seven digits."""
_MINUS_SIGN = ord("-")


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
    size = _write_significant(read_only(numbers.view(np.int64)), content, begins, lengths)
    return ByteColumn(content[:size], begins, lengths)


@entry_point
def _write_significant(bits: Integers, content: Bytes, begins: Integers, lengths: Integers) -> int:
    at = 0
    for row in range(len(bits)):
        begins[row], lengths[row] = at, UNWRITTEN
        number, decimals = _in_digits(bits[row])
        if number < 0:
            continue
        to = at
        if bits[row] < 0:
            content[to] = _MINUS_SIGN
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
    _write_indices(bytes_of(start), *symbol_columns, items, *end_columns, places, content)
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
def _write_indices(
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
