"""Walk over messages of Protocol Buffers by tables of their fields, and write wanted ones as JSON.

A record is sure where all that it holds is as its type says, where no wanted field comes in a way
that takes a decision (twice, or beside another one of its `oneof`), and where each is there, or has
a default, and can be written. Whatever is not sure, the library of Protocol Buffers reads. Messages
that nobody wants are walked over, too, because that library refuses a record for them.
"""

import numpy as np

from fugu.dataflows.records.scanned.compiled_objects import Flags
from fugu.dataflows.records.scanned.compiled_slots import (
    ABSENT,
    DECIMAL,
    FALSE,
    INTEGER,
    SYMBOL,
    TEXT,
    TIME,
    TRUE,
    little_endian,
    write_fields,
)
from fugu.dataflows.records.scanned.compiled_texts import AS_IT_IS, INVALID, text_form
from fugu.operators.byte_column import Bytes
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.mechanism import Floats, Integers

(INT32, INT64, UINT32, UINT64, SINT32, SINT64, BOOL) = range(7)
(ENUM, FIXED32, SFIXED32, FIXED64, SFIXED64, FLOAT, DOUBLE) = range(7, 14)
(STRING, BYTES, MESSAGE) = range(14, 17)
"""Types of fields, those of varints first."""
SECONDS, NANOS = range(17, 19)
"""The two fields of a time that is wanted."""
NUMBER, TYPE, SLOT, CHILD, REPEATED, CLASHES, CHOICE, CHOICES = range(8)
"""Columns of the table of fields: the number, the type, the slot if it is wanted, the table of a
message, whether it is repeated, whether it clears a wanted one, and where its wanted items are."""
DEEPEST = 32
"""Messages inside of each other."""
_VARINT, _EIGHT, _LENGTH, _FOUR = 0, 1, 2, 5
_LARGEST_TAG = np.uint64(2**32 - 1)
_LONGEST, _SHORT = 10, 5
"""Bytes of a number; those of a tag or a length are fewer."""
_FARTHEST = 2**50
"""Seconds that are beyond all times."""


@part
def _varint(content: Bytes, at: int, end: int) -> tuple[np.uint64, int]:
    """Return 64 bits and where they end; -1 where they are too many, or beyond the end."""
    if at < end and content[at] < 0x80:
        return np.uint64(content[at]), at + 1
    bits = np.uint64(0)
    for place in range(_LONGEST):
        if at + place >= end:
            return bits, -1
        byte = content[at + place]
        if place == _LONGEST - 1 and byte > 1:
            return bits, -1
        bits |= np.uint64(byte & np.uint8(0x7F)) << np.uint64(7 * place)
        if byte < 0x80:
            return bits, at + place + 1
    return bits, -1


@part
def _field_of(fields: Integers, begin: int, end: int, number: int) -> int:
    for row in range(begin, end):
        if fields[row, NUMBER] == number:
            return row
    return -1


@part
def _is_packed(content: Bytes, at: int, end: int, kind: int) -> bool:
    """Return whether all that is there are numbers of a type."""
    if kind in (DOUBLE, FIXED64, SFIXED64):
        return (end - at) % 8 == 0
    if kind in (FLOAT, FIXED32, SFIXED32):
        return (end - at) % 4 == 0
    while at < end:
        _, at = _varint(content, at, end)
        if at < 0:
            return False
    return True


@part
def _signed_32(bits: np.uint64) -> int:
    low = int(np.int64(bits & np.uint64(0xFFFFFFFF)))
    return low - 2**32 if low >= 2**31 else low


@part
def _unfolded(bits: np.uint64) -> int:
    half = int(np.int64(bits >> np.uint64(1)))
    return -half - 1 if bits & np.uint64(1) else half


@part
def _put_number(
    bits: np.uint64,
    kind: int,
    slot: int,
    child: int,
    targets: Integers,
    slots: Integers,
    patterns: Integers,
) -> bool:
    """Put a number into its slot; return whether it can be written."""
    if kind == SECONDS:
        slots[slot, 1] = np.int64(bits)
        return bool(-_FARTHEST < slots[slot, 1] < _FARTHEST)
    if kind == NANOS:
        slots[slot, 2] = _signed_32(bits)
        return True
    if kind == BOOL:
        slots[slot, 0] = TRUE if bits != 0 else FALSE
        return True
    if kind == DOUBLE:
        slots[slot, 0], patterns[slot] = DECIMAL, np.int64(bits)
        return True
    if kind == ENUM:
        number = _signed_32(bits)
        for place in range(targets[child]):
            if targets[child + 1 + 2 * place] == number:
                slots[slot, 0], slots[slot, 1] = SYMBOL, targets[child + 2 + 2 * place]
                return True
        return False
    value = 0
    if kind in (INT32, SFIXED32):
        value = _signed_32(bits)
    elif kind in (UINT32, FIXED32):
        value = int(np.int64(bits & np.uint64(0xFFFFFFFF)))
    elif kind in (UINT64, FIXED64):
        value = int(np.int64(bits))
        if value < 0:
            return False
    elif kind in (INT64, SFIXED64):
        value = int(np.int64(bits))
    else:
        value = _unfolded(bits & np.uint64(0xFFFFFFFF) if kind == SINT32 else bits)
    slots[slot, 0], slots[slot, 1] = INTEGER, value
    return True


@part
def _begin(
    node: int, nodes: Integers, defaults: Integers, slots: Integers, doubles: Floats
) -> None:
    """Give fields of a message that have no presence their defaults."""
    for row in range(nodes[node, 2], nodes[node, 3]):
        slot = defaults[row, 0]
        slots[slot, 0], slots[slot, 1], slots[slot, 2] = defaults[row, 1], defaults[row, 2], 0
        doubles[slot] = 0.0


@part
def _walk(
    content: Bytes,
    at: int,
    end: int,
    nodes: Integers,
    fields: Integers,
    targets: Integers,
    defaults: Integers,
    stack: Integers,
    seen: Integers,
    slots: Integers,
    doubles: Floats,
    patterns: Integers,
) -> bool:
    """Fill the slots; return whether all is sure. `patterns` are the bits of `doubles`."""
    depth, node = 0, 0
    stack[0, 0], stack[0, 1] = 0, end
    _begin(0, nodes, defaults, slots, doubles)
    while True:
        while at == stack[depth, 1]:
            if depth == 0:
                return True
            depth -= 1
        node, end = stack[depth, 0], stack[depth, 1]
        begin = at
        tag, at = _varint(content, at, end)
        if at < 0 or at - begin > _SHORT or tag > _LARGEST_TAG:
            return False
        number, wire = int(np.int64(tag >> np.uint64(3))), int(np.int64(tag & np.uint64(7)))
        row = _field_of(fields, nodes[node, 0], nodes[node, 1], number)
        if number == 0 or (row >= 0 and fields[row, CLASHES]):
            return False
        bits = np.uint64(0)
        if wire == _VARINT:
            bits, at = _varint(content, at, end)
            if at < 0:
                return False
        elif wire in (_EIGHT, _FOUR):
            size = 8 if wire == _EIGHT else 4
            if end - at < size:
                return False
            bits = little_endian(content, at, size)
            at += size
        elif wire == _LENGTH:
            length, begin = _varint(content, at, end)
            if begin < 0 or begin - at > _SHORT or length > np.uint64(end - begin):
                return False
            at = begin + int(np.int64(length))
        else:
            return False
        if row < 0:
            continue
        kind, slot, child = fields[row, TYPE], fields[row, SLOT], fields[row, CHILD]
        expected = _LENGTH
        if kind <= ENUM or kind in (SECONDS, NANOS):
            expected = _VARINT
        elif kind in (FIXED64, SFIXED64, DOUBLE):
            expected = _EIGHT
        elif kind in (FIXED32, SFIXED32, FLOAT):
            expected = _FOUR
        if wire != expected:
            if wire != _LENGTH or not fields[row, REPEATED]:
                return False
            if not _is_packed(content, begin, at, kind):
                return False
            continue
        if expected != _LENGTH:
            if slot >= 0 and not _put_number(bits, kind, slot, child, targets, slots, patterns):
                return False
            continue
        if kind == STRING:
            form = text_form(content, np.uint64(begin), np.uint64(at))
            if form == INVALID or (slot >= 0 and form != AS_IT_IS):
                return False
            if slot >= 0:
                slots[slot, 0], slots[slot, 1], slots[slot, 2] = TEXT, begin, at
            continue
        if kind == BYTES:
            continue
        for choice in range(fields[row, CHOICES]):
            place = fields[row, CHOICE] + 2 * choice
            if targets[place] == seen[row]:
                child = targets[place + 1]
        if fields[row, CHOICES] and not fields[row, REPEATED] and seen[row]:
            return False
        seen[row] += 1
        depth += 1
        if depth >= DEEPEST:
            return False
        stack[depth, 0], stack[depth, 1] = child, at
        at = begin
        if slot >= 0:
            slots[slot, 0], slots[slot, 1], slots[slot, 2] = TIME, 0, 0
        _begin(child, nodes, defaults, slots, doubles)


@entry_point
def project_messages(
    content: Bytes,
    rows: Integers,
    record_begins: Integers,
    record_lengths: Integers,
    prefix: int,
    nodes: Integers,
    fields: Integers,
    targets: Integers,
    defaults: Integers,
    symbols: Bytes,
    symbol_ends: Integers,
    pieces: Bytes,
    piece_ends: Integers,
    stack: Integers,
    seen: Integers,
    slots: Integers,
    doubles: Floats,
    patterns: Integers,
    out: Bytes,
    begin: int,
    begins: Integers,
    lengths: Integers,
    sure: Flags,
) -> int:
    """Write the wanted fields of these rows behind `begin` of `out`; return where they end.

    Records have `prefix` bytes in front of their message, the last of which is the place of the
    type: only the first type is read here. `out` has room for all of them.
    """
    size, at = len(content), begin
    for row in rows:
        start, length = record_begins[row], record_lengths[row]
        sure[row], begins[row], lengths[row] = False, at, 0
        if length < prefix or start < 0 or start > size - length:
            continue
        if content[start + prefix - 1] != 0:
            continue
        for slot in range(len(slots)):
            slots[slot, 0] = ABSENT
        for field in range(len(seen)):
            seen[field] = 0
        if not _walk(
            content,
            start + prefix,
            start + length,
            nodes,
            fields,
            targets,
            defaults,
            stack,
            seen,
            slots,
            doubles,
            patterns,
        ):
            continue
        end = write_fields(
            out, at, content, slots, doubles, symbols, symbol_ends, pieces, piece_ends
        )
        if end >= 0:
            sure[row], lengths[row] = True, end - at
            at = end
    return at
