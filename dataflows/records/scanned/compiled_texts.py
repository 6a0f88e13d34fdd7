"""Walk over the strings of JSON: escapes, control characters and UTF-8 (RFC 8259, RFC 3629).

Positions are 64 bits without sign, and none is read at `end` or behind it. `NOWHERE` is returned
where a string is not sure to be one.
"""

import numpy as np

from fugu.operators.byte_column import Bytes
from fugu.operators.compiled.compiling import inlined, part

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
    """Return where a string ends that has its quote before `begin`, and whether it has escapes."""
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


INVALID, TO_ESCAPE, AS_IT_IS = range(3)
"""Forms of a text: no UTF-8; one that JSON writes with escapes; one that it writes as it is."""


@part
def text_form(content: Bytes, begin: np.uint64, end: np.uint64) -> int:
    """Return the form of a text without quotes."""
    at, form = begin, AS_IT_IS
    while at < end:
        byte = content[at]
        if byte >= 0x80:
            at = _after_character(content, at, end)
            if at == NOWHERE:
                return INVALID
        else:
            if _CLASSES[byte] != _PLAIN:
                form = TO_ESCAPE
            at += ONE
    return form
