"""Walk over records of Avro by a program of their schema, and write wanted fields as JSON.

A record is sure where it is as its schema says to its last byte, where each wanted field is a text
that JSON writes as it is, a boolean, null, an integer or a short decimal, and none is absent.
Whatever is not sure, fastavro reads. Every text is looked at, because fastavro refuses one that is
no UTF-8, wanted or not.
"""

import numpy as np

from fugu.dataflows.records.scanned.compiled_objects import Flags
from fugu.dataflows.records.scanned.compiled_texts import AS_IT_IS, INVALID, QUOTE, text_form
from fugu.operators.byte_column import Bytes
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.mechanism import Floats, Integers

END, NO_VALUE, TRUTH, LONG, FLOAT, DOUBLE, BYTES, STRING = range(8)
FIXED, ENUM, UNION, JUMP, LOOP, NEXT = range(8, 14)
"""What a step of a program reads. Its further numbers say where to go on, how much there is, and
the slot of a wanted field, -1 where it is skipped."""

STEP_NUMBERS = 6
DEEPEST = 16
"""Lists and maps inside of each other."""
_ABSENT, _NULL, _FALSE, _TRUE, _INTEGER, _TEXT, _SYMBOL, _DECIMAL = range(8)
LONGEST_NUMBER = 24
"""Bytes that a number takes at most, and so does a word."""
_LONGEST_VARINT = 9
_MOST_DIGITS = 1e15
_MOST_DECIMALS = 15
_ZERO, _MINUS, _POINT = np.uint8(ord("0")), np.uint8(ord("-")), np.uint8(ord("."))
_WORDS = np.frombuffer(b"nullfalsetrue", dtype=np.uint8)
_POWERS = 10.0 ** np.arange(_MOST_DECIMALS + 1)


@part
def _varint(content: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return a number and where it ends; -1 where it is too long, or beyond the end."""
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
def _little_endian(content: Bytes, at: int, size: int) -> np.uint64:
    bits = np.uint64(0)
    for place in range(size):
        bits |= np.uint64(content[at + place]) << np.uint64(8 * place)
    return bits


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
        kind, first, second = _ABSENT, 0, 0
        if code == END:
            return at == end
        if code == NO_VALUE:
            kind = _NULL
        elif code == TRUTH:
            if at >= end or content[at] > 1:
                return False
            kind = _TRUE if content[at] else _FALSE
            at += 1
        elif code == LONG:
            first, at = _varint(content, at, end)
            if at < 0:
                return False
            kind = _INTEGER
        elif code in (DOUBLE, FLOAT):
            size = 8 if code == DOUBLE else 4
            if end - at < size:
                return False
            if slot >= 0:
                patterns[slot] = np.int64(_little_endian(content, at, size))
            kind = _DECIMAL
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
            kind = _TEXT
            at = second
        elif code == FIXED:
            if end - at < steps[step, 2]:
                return False
            at += steps[step, 2]
        elif code == ENUM:
            place, at = _varint(content, at, end)
            if at < 0 or place < 0 or place >= steps[step, 2]:
                return False
            kind, first = _SYMBOL, steps[step, 3] + place
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


@part
def _write_digits(out: Bytes, at: int, number: int, least: int) -> int:
    """Write a number that is not negative, with zeros in front of it up to `least` digits."""
    digits, rest = 1, number
    while rest >= 10:
        rest //= 10
        digits += 1
    digits = max(digits, least)
    for place in range(digits - 1, -1, -1):
        out[at + place] = _ZERO + np.uint8(number % 10)
        number //= 10
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
    if kind == _INTEGER:
        if first < 0:
            if first == -(2**63):
                return -1
            out[at] = _MINUS
            return _write_digits(out, at + 1, -first, 1)
        return _write_digits(out, at, first, 1)
    if kind == _DECIMAL:
        return _write_decimal(out, at, doubles[slot])
    if kind == _TEXT:
        out[at] = QUOTE
        at = _copy(out, at + 1, content, first, second)
        out[at] = QUOTE
        return at + 1
    if kind == _SYMBOL:
        return _copy(out, at, symbols, symbol_ends[first], symbol_ends[first + 1])
    if kind == _NULL:
        return _copy(out, at, _WORDS, 0, 4)
    if kind == _FALSE:
        return _copy(out, at, _WORDS, 4, 9)
    if kind == _TRUE:
        return _copy(out, at, _WORDS, 9, 13)
    return -1


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
            slots[slot, 0] = _ABSENT
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
        end = at
        for slot in range(len(slots)):
            end = _copy(out, end, pieces, piece_ends[slot], piece_ends[slot + 1])
            end = _write_slot(out, end, content, slots, slot, doubles, symbols, symbol_ends)
            if end < 0:
                break
        if end < 0:
            continue
        last = len(slots)
        end = _copy(out, end, pieces, piece_ends[last], piece_ends[last + 1])
        sure[row], lengths[row] = True, end - at
        at = end
    return at
