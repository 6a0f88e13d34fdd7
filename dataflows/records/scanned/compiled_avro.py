"""Walk over records of Avro by a program of their schema, and write wanted fields as JSON.

A record is sure where it is as its schema says to its last byte, where each wanted field is a text
that JSON writes as it is, a boolean, null, an integer or a short decimal, and none is absent.
Whatever is not sure, fastavro reads. Every text is looked at, because fastavro refuses one that is
no UTF-8, wanted or not.
"""

import numpy as np

from fugu.dataflows.records.scanned.compiled_objects import Flags
from fugu.dataflows.records.scanned.compiled_slots import (
    ABSENT,
    DECIMAL,
    FALSE,
    INTEGER,
    NULL,
    SYMBOL,
    TEXT,
    TRUE,
    little_endian,
    write_fields,
)
from fugu.dataflows.records.scanned.compiled_texts import AS_IT_IS, INVALID, text_form
from fugu.operators.byte_column import Bytes
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.mechanism import Floats, Integers

END, NO_VALUE, TRUTH, LONG, FLOAT, DOUBLE, BYTES, STRING = range(8)
FIXED, ENUM, UNION, JUMP, LOOP, NEXT = range(8, 14)
"""The kinds of steps of a program. More numbers of a step say where to go on, how much is there,
and the slot of a wanted field, -1 where it is skipped."""

STEP_NUMBERS = 6
DEEPEST = 16
"""Lists and maps inside of each other."""
_LONGEST_VARINT = 9


@part
def _varint(content: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return a number and where it ends; -1 where it is too long, or beyond the end."""
    if at < end and content[at] < 0x80:
        only = int(np.int64(content[at]))
        return (-1 - (only >> 1) if only & 1 else only >> 1), at + 1
    bits = np.uint64(0)
    for place in range(_LONGEST_VARINT):
        if at + place >= end:
            return 0, -1
        byte = content[at + place]
        bits |= np.uint64(byte & np.uint8(0x7F)) << np.uint64(7 * place)
        if byte < 0x80:
            half = int(np.int64(bits >> np.uint64(1)))
            return (-half - 1 if bits & np.uint64(1) else half), at + place + 1
    return 0, -1


@part
def _walk(
    content: Bytes,
    at: int,
    end: int,
    steps: Integers,
    targets: Integers,
    stack: Integers,
    slots: Integers,
    doubles: Floats,
    patterns: Integers,
) -> bool:
    """Fill the slots with kind, begin and end, or kind and value; return whether all is sure.

    `patterns` are the bits of `doubles`.
    """
    step, depth = 0, 0
    while True:
        code, slot = steps[step, 0], steps[step, 1]
        kind, first, second = ABSENT, 0, 0
        if code == END:
            return at == end
        if code == NO_VALUE:
            kind = NULL
        elif code == TRUTH:
            if at >= end or content[at] > 1:
                return False
            kind = TRUE if content[at] else FALSE
            at += 1
        elif code == LONG:
            first, at = _varint(content, at, end)
            if at < 0:
                return False
            kind = INTEGER
        elif code in (DOUBLE, FLOAT):
            size = 8 if code == DOUBLE else 4
            if end - at < size:
                return False
            if slot >= 0:
                patterns[slot] = np.int64(little_endian(content, at, size))
            kind = DECIMAL
            at += size
        elif code in (BYTES, STRING):
            length, at = _varint(content, at, end)
            if at < 0 or length < 0 or length > end - at:
                return False
            first, second = at, at + length
            if code == STRING:
                form = text_form(content, np.uint64(first), np.uint64(second))
                if form == INVALID or (slot >= 0 and form != AS_IT_IS):
                    return False
            kind = TEXT
            at = second
        elif code == FIXED:
            if end - at < steps[step, 2]:
                return False
            at += steps[step, 2]
        elif code == ENUM:
            place, at = _varint(content, at, end)
            if at < 0 or place < 0 or place >= steps[step, 2]:
                return False
            kind, first = SYMBOL, steps[step, 3] + place
        elif code == UNION:
            branch, at = _varint(content, at, end)
            if at < 0 or branch < 0 or branch >= steps[step, 2]:
                return False
            step = targets[steps[step, 3] + branch]
            continue
        elif code == JUMP:
            step = steps[step, 2]
            continue
        else:
            if code == LOOP:
                depth += 1
                stack[depth, 0], stack[depth, 1], stack[depth, 2] = step, 0, 0
            else:
                stack[depth, 1] -= 1
                stack[depth, 2] += 1
            loop = stack[depth, 0]
            if stack[depth, 1] == 0:
                count, at = _varint(content, at, end)
                if at < 0:
                    return False
                if count < 0:
                    count = -count
                    _, at = _varint(content, at, end)
                    if at < 0:
                        return False
                if count == 0:
                    depth -= 1
                    step = steps[loop, 4]
                    continue
                stack[depth, 1] = count
            if steps[loop, 2]:
                length, at = _varint(content, at, end)
                if at < 0 or length < 0 or length > end - at:
                    return False
                if text_form(content, np.uint64(at), np.uint64(at + length)) == INVALID:
                    return False
                at += length
            step = loop + 1
            first_choice = steps[loop, 3]
            for choice in range(steps[loop, 5]):
                if targets[first_choice + 2 * choice] == stack[depth, 2]:
                    step = targets[first_choice + 2 * choice + 1]
            continue
        if slot >= 0:
            slots[slot, 0], slots[slot, 1], slots[slot, 2] = kind, first, second
        step += 1


@entry_point
def project(
    content: Bytes,
    rows: Integers,
    record_begins: Integers,
    record_lengths: Integers,
    prefix: int,
    steps: Integers,
    targets: Integers,
    symbols: Bytes,
    symbol_ends: Integers,
    pieces: Bytes,
    piece_ends: Integers,
    stack: Integers,
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

    Records have `prefix` bytes in front of Avro. `out` has room for all of them.
    """
    size, at = len(content), begin
    for row in rows:
        start, length = record_begins[row], record_lengths[row]
        sure[row], begins[row], lengths[row] = False, at, 0
        if length <= prefix or start < 0 or start > size - length:
            continue
        for slot in range(len(slots)):
            slots[slot, 0] = ABSENT
        if not _walk(
            content,
            start + prefix,
            start + length,
            steps,
            targets,
            stack,
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
