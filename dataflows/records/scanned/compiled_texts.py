"""Walk over the numbers and strings of JSON."""

import numpy as np

from fugu.operators.columns import Bytes
from fugu.operators.compiled.compiling import inlined, part

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
    """Return where a number ends that begins at `begin`, and its kind, `UNSURE` if it is none.

    A number has a kind. An `INTEGER` has at most 18 digits and is not -0. A `DECIMAL` has a
    fraction and at most 15 digits in all, so that a double tells it from any other of them. A
    `LONG_DECIMAL` has at most 19. Every other number is an `OTHER_NUMBER`, also one that no double
    holds.
    """
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


NOWHERE = np.uint64(0)
"""No string ends at the first byte."""
ONE = np.uint64(1)
QUOTE, BACKSLASH = np.uint8(ord('"')), np.uint8(ord("\\"))

_PLAIN, _QUOTE, _BACKSLASH, _OTHER = np.arange(4, dtype=np.uint8)
_U = np.uint8(ord("u"))
_FIVE = np.uint64(5)


def _classes() -> Bytes:
    """Return what each byte is in a string; control characters and all of UTF-8 are `_OTHER`."""
    classes = np.full(256, _OTHER, dtype=np.uint8)
    classes[0x20:0x80] = _PLAIN
    classes[QUOTE], classes[BACKSLASH] = _QUOTE, _BACKSLASH
    return classes


def _hexadecimal() -> Bytes:
    digits = np.zeros(256, dtype=np.uint8)
    digits[list(b"0123456789abcdefABCDEF")] = 1
    return digits


def _escaped() -> Bytes:
    escaped = np.zeros(256, dtype=np.uint8)
    escaped[list(b'"\\/bfnrt')] = 1
    return escaped


_CLASSES, _HEXADECIMAL, _ESCAPED = _classes(), _hexadecimal(), _escaped()


@inlined
def after_text(content: Bytes, begin: np.uint64, end: np.uint64) -> tuple[np.uint64, bool]:
    """Return where a string ends that has its quote before `begin`, and whether it has escapes.

    Positions are 64 bits without sign, and none is read at `end` or behind it. `NOWHERE` is
    returned where a string is not sure to be one.
    """
    at, escapes = begin, False
    while at < end:
        kind = _CLASSES[content[at]]
        if kind == _PLAIN:
            at += ONE
        elif kind == _QUOTE:
            return at + ONE, escapes
        else:
            if kind == _BACKSLASH:
                escapes = True
                at = _after_escape(content, at + ONE, end)
            else:
                at = _after_character(content, at, end)
            if at == NOWHERE:
                return NOWHERE, escapes
    return NOWHERE, escapes


@part
def _after_escape(content: Bytes, at: np.uint64, end: np.uint64) -> np.uint64:
    """Return where an escape ends; half a pair of surrogates is one, too."""
    if at >= end:
        return NOWHERE
    if _ESCAPED[content[at]]:
        return at + ONE
    if content[at] != _U or end - at < _FIVE:
        return NOWHERE
    for place in range(1, 5):
        if not _HEXADECIMAL[content[at + np.uint64(place)]]:
            return NOWHERE
    return at + _FIVE


@part
def _after_character(content: Bytes, at: np.uint64, end: np.uint64) -> np.uint64:
    """Return where a character ends that takes more than one byte of UTF-8."""
    lead = content[at]
    if lead < 0xC2 or lead > 0xF4:
        return NOWHERE
    following = np.uint64(1 if lead < 0xE0 else 2 if lead < 0xF0 else 3)
    if end - at <= following:
        return NOWHERE
    lowest = 0xA0 if lead == 0xE0 else 0x90 if lead == 0xF0 else 0x80
    highest = 0x9F if lead == 0xED else 0x8F if lead == 0xF4 else 0xBF
    second = content[at + ONE]
    if second < lowest or second > highest:
        return NOWHERE
    for place in range(2, 4):
        if np.uint64(place) <= following:
            byte = content[at + np.uint64(place)]
            if byte < 0x80 or byte > 0xBF:
                return NOWHERE
    return at + following + ONE
