"""Walk over the numbers of JSON, and read those whose double no rounding could change.

A number has a kind. An `INTEGER` has at most 18 digits and is not -0. A `DECIMAL` has a fraction
and at most 15 digits in all, so that a double tells it from any other of them. A `LONG_DECIMAL` has
at most 19. Every other number is an `OTHER_NUMBER`, also one that no double holds.
"""

import numpy as np

from fugu.operators.byte_column import Bytes
from fugu.operators.compiled.compiling import part

UNSURE, INTEGER, DECIMAL, LONG_DECIMAL, OTHER_NUMBER = np.arange(5, dtype=np.uint8)

MINUS, ZERO, POINT = np.uint8(ord("-")), np.uint8(ord("0")), np.uint8(ord("."))
_NINE, _PLUS, _E, _LOWER = np.uint8(ord("9")), np.uint8(ord("+")), np.uint8(ord("e")), np.uint8(32)
_ONE = np.uint64(1)
_INTEGER_DIGITS, _DECIMAL_DIGITS, _LONG_DIGITS = np.uint64(18), np.uint64(15), np.uint64(19)


@part
def is_digit(byte: np.uint8) -> bool:
    """Return whether a byte is a decimal digit."""
    return bool(ZERO <= byte <= _NINE)


@part
def _after_digits(content: Bytes, at: np.uint64, end: np.uint64) -> np.uint64:
    while at < end and is_digit(content[at]):
        at += _ONE
    return at


@part
def after_number(content: Bytes, begin: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint8]:
    """Return where a number ends that begins at `begin`, and its kind, `UNSURE` if it is none."""
    at = begin
    negative = at < end and content[at] == MINUS
    if negative:
        at += _ONE
    first = at
    at = _after_digits(content, first, end)
    digits = at - first
    starts_with_zero = digits > 0 and content[first] == ZERO
    if digits == 0 or (starts_with_zero and digits > 1):
        return at, UNSURE
    kind = INTEGER
    if digits > _INTEGER_DIGITS or (starts_with_zero and negative):
        kind = OTHER_NUMBER
    if at < end and content[at] == POINT:
        fraction = at + _ONE
        at = _after_digits(content, fraction, end)
        if at == fraction:
            return at, UNSURE
        digits += at - fraction
        kind = DECIMAL
        if digits > _DECIMAL_DIGITS:
            kind = LONG_DECIMAL if digits <= _LONG_DIGITS else OTHER_NUMBER
    if at < end and content[at] | _LOWER == _E:
        at += _ONE
        if at < end and (content[at] == _PLUS or content[at] == MINUS):
            at += _ONE
        exponent = at
        at = _after_digits(content, exponent, end)
        if at == exponent:
            return at, UNSURE
        kind = OTHER_NUMBER
    return at, kind


@part
def integer_at(content: Bytes, begin: np.uint64, end: np.uint64) -> int:
    """Return an `INTEGER`."""
    value = 0
    negative = content[begin] == MINUS
    at = begin + _ONE if negative else begin
    while at < end:
        value = 10 * value + int(np.int64(content[at] - ZERO))
        at += _ONE
    return -value if negative else value
