"""Write what was found in a record as JSON: its wanted fields, between the pieces around them.

A slot holds the kind of a field, and two numbers: begin and end of a text in the record, an
integer, the place of a symbol, or seconds and nanoseconds. Doubles have a column of their own.
"""

import numpy as np

from fugu.dataflows.records.scanned.compiled_texts import QUOTE
from fugu.operators.byte_column import Bytes
from fugu.operators.compiled.compiling import part
from fugu.operators.mechanism import Floats, Integers

ABSENT, NULL, FALSE, TRUE, INTEGER, TEXT, SYMBOL, DECIMAL, TIME = range(9)
LONGEST_NUMBER = 24
"""Bytes that a number takes at most, and so does a word."""
_MOST_DIGITS = 1e15
_MOST_DECIMALS = 15
_ZERO, _MINUS, _POINT = np.uint8(ord("0")), np.uint8(ord("-")), np.uint8(ord("."))
_TEN = np.uint64(10)
_WORDS = np.frombuffer(b"nullfalsetrue", dtype=np.uint8)
_POWERS = 10.0 ** np.arange(_MOST_DECIMALS + 1)


@part
def little_endian(content: Bytes, at: int, size: int) -> np.uint64:
    """Return the bits of a number of so many bytes."""
    bits = np.uint64(0)
    for place in range(size):
        bits |= np.uint64(content[at + place]) << np.uint64(8 * place)
    return bits


@part
def _write_digits(out: Bytes, at: int, number: int, least: int) -> int:
    """Write a number that is not negative, with zeros in front of it up to `least` digits."""
    digits, rest = 1, np.uint64(number)
    left = rest
    while rest >= _TEN:
        rest //= _TEN
        digits += 1
    digits = max(digits, least)
    for place in range(digits - 1, -1, -1):
        out[at + place] = _ZERO + np.uint8(left % _TEN)
        left //= _TEN
    return at + digits


@part
def _write_decimal(out: Bytes, at: int, number: float) -> int:
    """Write the shortest decimal of a double; return -1 where it is not sure to be that.

    A quotient of two numbers that doubles hold is rounded once, as reading the decimal is.
    """
    if not abs(number) < _MOST_DIGITS or (number != 0.0 and abs(number) < 1e-4):
        return -1
    if number == 0.0 and np.copysign(1.0, number) < 0:
        return -1
    for decimals in range(_MOST_DECIMALS + 1):
        units = np.rint(abs(number) * _POWERS[decimals])
        if units >= _MOST_DIGITS:
            return -1
        if units / _POWERS[decimals] == abs(number):
            if number < 0:
                out[at] = _MINUS
                at += 1
            power = int(np.int64(_POWERS[decimals]))
            whole = int(np.int64(units))
            at = _write_digits(out, at, whole // power, 1)
            out[at] = _POINT
            return _write_digits(out, at + 1, whole % power, max(decimals, 1))
    return -1


@part
def _copy(out: Bytes, at: int, source: Bytes, begin: int, end: int) -> int:
    for place in range(begin, end):
        out[at + place - begin] = source[place]
    return at + end - begin


@part
def _write_slot(
    out: Bytes,
    at: int,
    content: Bytes,
    slots: Integers,
    slot: int,
    doubles: Floats,
    symbols: Bytes,
    symbol_ends: Integers,
) -> int:
    """Write a value as JSON, and return where it ends; -1 where there is none."""
    kind, first, second = slots[slot, 0], slots[slot, 1], slots[slot, 2]
    if kind == INTEGER:
        if first < 0:
            if first == -(2**63):
                return -1
            out[at] = _MINUS
            return _write_digits(out, at + 1, -first, 1)
        return _write_digits(out, at, first, 1)
    if kind == TIME:
        milliseconds = first * 1000 + second // 1_000_000
        return -1 if milliseconds < 0 else _write_digits(out, at, milliseconds, 1)
    if kind == DECIMAL:
        return _write_decimal(out, at, doubles[slot])
    if kind == TEXT:
        out[at] = QUOTE
        at = _copy(out, at + 1, content, first, second)
        out[at] = QUOTE
        return at + 1
    if kind == SYMBOL:
        return _copy(out, at, symbols, symbol_ends[first], symbol_ends[first + 1])
    if kind == NULL:
        return _copy(out, at, _WORDS, 0, 4)
    if kind == FALSE:
        return _copy(out, at, _WORDS, 4, 9)
    if kind == TRUE:
        return _copy(out, at, _WORDS, 9, 13)
    return -1


@part
def write_fields(
    out: Bytes,
    at: int,
    content: Bytes,
    slots: Integers,
    doubles: Floats,
    symbols: Bytes,
    symbol_ends: Integers,
    pieces: Bytes,
    piece_ends: Integers,
) -> int:
    """Write all fields of a record, and return where they end; -1 where one is absent or odd."""
    for slot in range(len(slots)):
        at = _copy(out, at, pieces, piece_ends[slot], piece_ends[slot + 1])
        at = _write_slot(out, at, content, slots, slot, doubles, symbols, symbol_ends)
        if at < 0:
            return -1
    last = len(slots)
    return _copy(out, at, pieces, piece_ends[last], piece_ends[last + 1])
