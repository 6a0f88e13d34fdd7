"""Walk over whole records, and note where the fields are that somebody asks for.

A record is sure where it is one JSON object (RFC 8259), nested at most 60 deep, whose own fields
have names without escapes. Of fields with one name the last one counts. A text with escapes may
hold half a pair of surrogates, and no double may hold an `OTHER_NUMBER`: nobody reads these here.
"""

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.records.scanned.compiled_texts import (
    MINUS,
    NOWHERE,
    ONE,
    QUOTE,
    UNSURE,
    after_number,
    after_text,
    is_digit,
)
from fugu.operators.columns import Bytes
from fugu.operators.compiled.compiling import entry_point, inlined, part
from fugu.operators.mechanism import Integers

ABSENT, TEXT, ESCAPED_TEXT, TRUE, FALSE, NULL, LIST, OBJECT = np.arange(16, 24, dtype=np.uint8)
"""Kinds of contents of fields, beside those of numbers."""

Flags = NDArray[np.bool_]
_DEEPEST = 60
_NO_FIELD = -1
COMMA, _COLON = np.uint8(ord(",")), np.uint8(ord(":"))
OPEN_OBJECT, CLOSE_OBJECT = np.uint8(ord("{")), np.uint8(ord("}"))
OPEN_LIST, CLOSE_LIST = np.uint8(ord("[")), np.uint8(ord("]"))
_SPACE, _TAB, _LINE_FEED, _RETURN = 32, 9, 10, 13
_T, _F, _N = np.uint8(ord("t")), np.uint8(ord("f")), np.uint8(ord("n"))
_WORDS = np.frombuffer(b"true false null", dtype=np.uint8)
_TRUE_AT, _FALSE_AT, _NULL_AT = np.array([0, 5, 11], dtype=np.uint64)
_FOUR, _FIVE = np.array([4, 5], dtype=np.uint64)


@inlined
def after_spaces(content: Bytes, at: np.uint64, end: np.uint64) -> np.uint64:
    """Return where whitespace ends that may begin here."""
    while at < end:
        byte = content[at]
        if byte > _SPACE:
            break
        if byte != _SPACE and byte != _LINE_FEED and byte != _RETURN and byte != _TAB:
            break
        at += ONE
    return at


@part
def _is_word(
    content: Bytes, at: np.uint64, end: np.uint64, word: np.uint64, length: np.uint64
) -> bool:
    if end - at < length:
        return False
    place = np.uint64(0)
    while place < length and content[at + place] == _WORDS[word + place]:
        place += ONE
    return bool(place == length)


@inlined
def after_scalar(content: Bytes, begin: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint8]:
    """Return where a string, number or word ends that begins here, and its kind."""
    first = content[begin]
    if first == QUOTE:
        at, escapes = after_text(content, begin + ONE, end)
        if at == NOWHERE:
            return at, UNSURE
        return at, ESCAPED_TEXT if escapes else TEXT
    if first == MINUS or is_digit(first):
        return after_number(content, begin, end)
    if first == _T and _is_word(content, begin, end, _TRUE_AT, _FOUR):
        return begin + _FOUR, TRUE
    if first == _F and _is_word(content, begin, end, _FALSE_AT, _FIVE):
        return begin + _FIVE, FALSE
    if first == _N and _is_word(content, begin, end, _NULL_AT, _FOUR):
        return begin + _FOUR, NULL
    return begin, UNSURE


@inlined
def _field_of(
    content: Bytes,
    begin: np.uint64,
    end: np.uint64,
    names: Bytes,
    name_begins: Integers,
    name_lengths: Integers,
) -> int:
    """Return the number of the field with this name, or `_NO_FIELD`."""
    for field in range(len(name_begins)):
        length = np.uint64(name_lengths[field])
        if length == end - begin:
            name, place = np.uint64(name_begins[field]), np.uint64(0)
            while place < length and content[begin + place] == names[name + place]:
                place += ONE
            if place == length:
                return field
    return _NO_FIELD


@inlined
def _is_object(
    content: Bytes,
    begin: np.uint64,
    end: np.uint64,
    names: Bytes,
    name_begins: Integers,
    name_lengths: Integers,
    row: int,
    kinds: Bytes,
    begins: Integers,
    ends: Integers,
) -> bool:
    """Return whether a record is sure to be an object, and note its fields in column `row`."""
    at = after_spaces(content, begin, end)
    if at >= end or content[at] != OPEN_OBJECT:
        return False
    at += ONE
    # Bits say what is open, the innermost first: 1 for an object, 0 for a list.
    nesting, depth = ONE, 1
    just_opened, open_field = True, _NO_FIELD
    while depth > 0:
        at = after_spaces(content, at, end)
        if at >= end:
            return False
        inside_object = nesting & ONE == ONE
        if content[at] == (CLOSE_OBJECT if inside_object else CLOSE_LIST):
            at += ONE
            nesting, depth, just_opened = nesting >> ONE, depth - 1, False
            if depth == 1 and open_field != _NO_FIELD:
                ends[open_field, row], open_field = at, _NO_FIELD
            continue
        if not just_opened:
            if content[at] != COMMA:
                return False
            at = after_spaces(content, at + ONE, end)
        field = _NO_FIELD
        if inside_object:
            if at >= end or content[at] != QUOTE:
                return False
            name = at + ONE
            at, escapes = after_text(content, name, end)
            if at == NOWHERE or (escapes and depth == 1):
                return False
            if depth == 1:
                field = _field_of(content, name, at - ONE, names, name_begins, name_lengths)
            at = after_spaces(content, at, end)
            if at >= end or content[at] != _COLON:
                return False
            at = after_spaces(content, at + ONE, end)
        if at >= end:
            return False
        value, first = at, content[at]
        just_opened = first in (OPEN_OBJECT, OPEN_LIST)
        if just_opened:
            if depth == _DEEPEST:
                return False
            kind = OBJECT if first == OPEN_OBJECT else LIST
            nesting, depth = nesting << ONE | np.uint64(kind == OBJECT), depth + 1
            at += ONE
            open_field = field if depth == 2 else open_field
        else:
            at, kind = after_scalar(content, value, end)
            if kind == UNSURE:
                return False
        if field != _NO_FIELD:
            kinds[field, row], begins[field, row], ends[field, row] = kind, value, at
    return bool(after_spaces(content, at, end) == end)


@entry_point
def scan(
    content: Bytes,
    record_begins: Integers,
    record_lengths: Integers,
    longest: int,
    names: Bytes,
    name_begins: Integers,
    name_lengths: Integers,
    kinds: Bytes,
    begins: Integers,
    ends: Integers,
    sure: Flags,
) -> None:
    """Note kind, begin and end of each field in each record, and which records are sure.

    Records that are empty, longer than `longest` or not inside the content are not.
    """
    size = len(content)
    for row in range(len(record_begins)):
        begin, length = record_begins[row], record_lengths[row]
        if not (0 < length <= longest and 0 <= begin <= size - length):
            sure[row] = False
            continue
        for field in range(len(name_begins)):
            kinds[field, row] = ABSENT
        sure[row] = _is_object(
            content,
            np.uint64(begin),
            np.uint64(begin + length),
            names,
            name_begins,
            name_lengths,
            row,
            kinds,
            begins,
            ends,
        )
