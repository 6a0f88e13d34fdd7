"""Find items of lists in records that are scanned already, so that they are JSON."""

import numpy as np

from fugu.dataflows.records.scanned.compiled_numerals import UNSURE
from fugu.dataflows.records.scanned.compiled_objects import (
    ABSENT,
    CLOSE_LIST,
    CLOSE_OBJECT,
    COMMA,
    LIST,
    OBJECT,
    OPEN_LIST,
    OPEN_OBJECT,
    Flags,
    after_scalar,
    after_spaces,
)
from fugu.dataflows.records.scanned.compiled_texts import ONE, QUOTE, after_text
from fugu.operators.byte_column import Bytes
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.mechanism import Integers


@part
def _after_nested(content: Bytes, begin: np.uint64, end: np.uint64) -> np.uint64:
    """Return where a list or object ends that begins here."""
    at, depth = begin, 0
    while at < end:
        byte = content[at]
        if byte == QUOTE:
            at, _ = after_text(content, at + ONE, end)
            continue
        at += ONE
        if byte in (OPEN_LIST, OPEN_OBJECT):
            depth += 1
        elif byte in (CLOSE_LIST, CLOSE_OBJECT):
            depth -= 1
            if depth == 0:
                break
    return at


@entry_point
def find_items(
    content: Bytes,
    kinds: Bytes,
    begins: Integers,
    ends: Integers,
    sure: Flags,
    place: int,
    item_kinds: Bytes,
    item_begins: Integers,
    item_ends: Integers,
) -> None:
    """Note kind, begin and end of the item at a place of each list; it may be absent."""
    for row in range(len(kinds)):
        item_kinds[row] = ABSENT
        if not sure[row] or kinds[row] != LIST:
            continue
        last = np.uint64(ends[row]) - ONE
        at = after_spaces(content, np.uint64(begins[row]) + ONE, last)
        number = 0
        while at < last:
            value, first = at, content[at]
            if first in (OPEN_LIST, OPEN_OBJECT):
                kind = LIST if first == OPEN_LIST else OBJECT
                at = _after_nested(content, at, last)
            else:
                at, kind = after_scalar(content, at, last)
                if kind == UNSURE:
                    sure[row] = False
                    break
            if number == place:
                item_kinds[row], item_begins[row], item_ends[row] = kind, value, at
                break
            number += 1
            at = after_spaces(content, at, last)
            if at < last and content[at] == COMMA:
                at = after_spaces(content, at + ONE, last)
