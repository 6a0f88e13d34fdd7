"""Read values of one field from where they are in records: payloads, symbols, numbers, events."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fugu.dataflows.records.scanned.compiled_objects import (
    COMMA,
    FALSE,
    LIST,
    NULL,
    TEXT,
    TRUE,
    Flags,
    after_scalar,
    after_spaces,
)
from fugu.dataflows.records.scanned.compiled_texts import (
    DECIMAL,
    INTEGER,
    LONG_DECIMAL,
    MINUS,
    POINT,
    ZERO,
    integer_at,
)
from fugu.operators.columns import ByteColumn, Bytes
from fugu.operators.compiled.compiling import entry_point, inlined, part
from fugu.operators.compiled_blake2b import (
    DIGEST_WORDS,
    LANES,
    Lanes,
    area_bytes,
    begin_lanes,
    finish_lanes,
    put_bytes,
)
from fugu.operators.mechanism import Integers, Words

_ONE_PAYLOAD = np.uint64(1)
_SMALLEST = np.uint64(3)
"""Zeros behind the point of 0.0001, which is written without an exponent."""


@part
def _is_shortest(content: Bytes, begin: np.uint64, end: np.uint64) -> bool:
    """Return whether a `DECIMAL` has no zero too many at its end, and no need for an exponent."""
    first = begin + _ONE_PAYLOAD if content[begin] == MINUS else begin
    point = first
    while content[point] != POINT:
        point += _ONE_PAYLOAD
    if content[end - _ONE_PAYLOAD] == ZERO:
        return bool(end - point == _ONE_PAYLOAD + _ONE_PAYLOAD)
    zeros = point + _ONE_PAYLOAD
    while content[zeros] == ZERO:
        zeros += _ONE_PAYLOAD
    return bool(content[first] != ZERO or zeros - point - _ONE_PAYLOAD <= _SMALLEST)


@entry_point
def sift_payloads(
    content: Bytes,
    kinds: Bytes,
    begins: Integers,
    ends: Integers,
    sure: Flags,
    takes_null: bool,
    longest: int,
) -> None:
    """Take out of `sure` what is longer, or not sure to be written again as it is."""
    for row in range(len(kinds)):
        if sure[row]:
            kind, begin, end = kinds[row], np.uint64(begins[row]), np.uint64(ends[row])
            if kind == DECIMAL:
                sure[row] = _is_shortest(content, begin, end)
            elif kind == NULL:
                sure[row] = takes_null
            else:
                sure[row] = kind in (TEXT, INTEGER, TRUE, FALSE)
            if ends[row] - begins[row] > longest:
                sure[row] = False


_OUTSIDE, _VACANT = -1, -1
_ONE_SYMBOL, _HALF = np.uint64(1), np.uint64(32)
_BASIS, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
"""Start and multiply hashes as FNV-1a does."""


class SymbolTable(NamedTuple):
    """Hold a hash table of symbols that are all strings, or all integers.

    `slots` has the place of a symbol in the other columns. A symbol is written without its quotes.
    What is no symbol has the index `other`; nothing has a negative one.
    """

    is_text: bool
    other: int
    slots: Integers
    indices: Integers
    texts: Bytes
    begins: Integers
    lengths: Integers

    @classmethod
    def of(cls, symbols: Mapping[object, int], other: int) -> "SymbolTable":
        """Make a table from symbols and their indices, with few in one place."""
        written = [str(symbol).encode() for symbol in symbols]
        slots = np.full(1 << (2 * len(written)).bit_length(), _VACANT, dtype=np.int64)
        for place, text in enumerate(written):
            slot = _slot_in_python(text, len(slots))
            while slots[slot] != _VACANT:
                slot = (slot + 1) % len(slots)
            slots[slot] = place
        column = ByteColumn.of(written)
        indices = np.array(list(symbols.values()), dtype=np.int64)
        is_text = isinstance(next(iter(symbols)), str)
        return cls(is_text, other, slots, indices, column.content, column.begins, column.lengths)


def _slot_in_python(text: bytes, slots: int) -> int:
    state = int(_BASIS)
    for byte in text:
        state = (state ^ byte) * int(_PRIME) % 2**64
    return (state ^ state >> int(_HALF)) % slots


@inlined
def _index_of(content: Bytes, begin: np.uint64, end: np.uint64, table: SymbolTable) -> int:
    """Return the index of the symbol that is written here, or `other`."""
    state, at = _BASIS, begin
    while at < end:
        state = (state ^ np.uint64(content[at])) * _PRIME
        at += _ONE_SYMBOL
    last = np.uint64(len(table.slots) - 1)
    slot = (state ^ state >> _HALF) & last
    while table.slots[slot] != _VACANT:
        symbol = np.uint64(table.slots[slot])
        if np.uint64(table.lengths[symbol]) == end - begin:
            text, at = np.uint64(table.begins[symbol]), begin
            while at < end and content[at] == table.texts[text]:
                at, text = at + _ONE_SYMBOL, text + _ONE_SYMBOL
            if at == end:
                return int(table.indices[symbol])
        slot = (slot + _ONE_SYMBOL) & last
    return table.other


@inlined
def _index_of_scalar(
    content: Bytes, kind: np.uint8, begin: np.uint64, end: np.uint64, table: SymbolTable
) -> int:
    """Return the index of a string or number, or a negative one if it is not sure to have any."""
    if table.is_text:
        return (
            _index_of(content, begin + _ONE_SYMBOL, end - _ONE_SYMBOL, table)
            if kind == TEXT
            else _OUTSIDE
        )
    return _index_of(content, begin, end, table) if kind == INTEGER else _OUTSIDE


@entry_point
def read_symbols(
    content: Bytes,
    kinds: Bytes,
    begins: Integers,
    ends: Integers,
    sure: Flags,
    table: SymbolTable,
    indices: Integers,
) -> None:
    """Write the index of the symbol in each record."""
    for row in range(len(indices)):
        if sure[row]:
            begin, end = np.uint64(begins[row]), np.uint64(ends[row])
            indices[row] = _index_of_scalar(content, kinds[row], begin, end, table)
            sure[row] = indices[row] >= 0


@part
def _bits_of_list(content: Bytes, begin: np.uint64, end: np.uint64, table: SymbolTable) -> int:
    """Return a bit for each symbol in a list of JSON, or a negative number if it has others."""
    bits = 0
    last = end - _ONE_SYMBOL
    at = after_spaces(content, begin + _ONE_SYMBOL, last)
    while at < last:
        value = at
        at, kind = after_scalar(content, value, last)
        if kind != (TEXT if table.is_text else INTEGER):
            return _OUTSIDE
        index = _index_of_scalar(content, kind, value, at, table)
        if index < 0:
            return _OUTSIDE
        bits |= 1 << index
        at = after_spaces(content, at, last)
        if at < last:
            if content[at] != COMMA:
                return _OUTSIDE
            at = after_spaces(content, at + _ONE_SYMBOL, last)
    return bits


@entry_point
def read_sets(
    content: Bytes,
    kinds: Bytes,
    begins: Integers,
    ends: Integers,
    sure: Flags,
    table: SymbolTable,
    sets: Integers,
) -> None:
    """Write the set of symbols in each record as bits of a number, which has at most 62."""
    for row in range(len(sets)):
        if sure[row]:
            if kinds[row] == LIST:
                begin, end = np.uint64(begins[row]), np.uint64(ends[row])
                sets[row] = _bits_of_list(content, begin, end, table)
            else:
                sets[row] = _OUTSIDE
            sure[row] = sets[row] >= 0


_ONE, _TEN = np.uint64(1), np.uint64(10)
_LARGE, _CLEAR = 2.0**40, 0.499
"""Doubles below `_LARGE` cannot be wrong about which unit is nearest, if it is nearer than this:
five roundings, by 2^-53 of a number each, are less than a thousandth."""
_POWERS = 10 ** np.arange(19, dtype=np.int64)


@part
def _digits_at(content: Bytes, begin: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return all digits of a decimal as one number, and how many are behind the point."""
    digits, fraction, at = np.uint64(0), np.uint64(0), begin
    while at < end:
        if content[at] == POINT:
            fraction = end - at - _ONE
        elif content[at] != MINUS:
            digits = _TEN * digits + np.uint64(content[at] - ZERO)
        at += _ONE
    return digits, fraction


@part
def _units_of_integer(value: int, units_per_one: int, largest: int) -> int:
    most = largest // units_per_one
    if value > most:
        return largest
    return -largest if value < -most else value * units_per_one


@part
def _units_of_decimal(
    content: Bytes,
    kind: np.uint8,
    begin: np.uint64,
    end: np.uint64,
    units_per_one: int,
    largest: int,
) -> tuple[int, bool]:
    """Return the nearest number of units, halves up, and whether it is sure."""
    digits, fraction = _digits_at(content, begin, end)
    power = _POWERS[fraction]
    units = np.float64(digits) / np.float64(power) * np.float64(units_per_one)
    if content[begin] == MINUS:
        units = -units
    nearest = np.floor(units + 0.5)
    if abs(units) < _LARGE and abs(units - nearest) < _CLEAR:
        return int(nearest), True
    signed = int(np.int64(digits))
    if content[begin] == MINUS:
        signed = -signed
    if kind != DECIMAL or abs(signed) > largest // units_per_one:
        return 0, False
    return int((2 * signed * units_per_one + power) // (2 * power)), True


@entry_point
def read_units(
    content: Bytes,
    kinds: Bytes,
    begins: Integers,
    ends: Integers,
    sure: Flags,
    units_per_one: int,
    largest: int,
    units: Integers,
) -> None:
    """Write the nearest number of units of each record; none is beyond `largest`, of 62 bits."""
    for row in range(len(units)):
        if sure[row]:
            begin, end = np.uint64(begins[row]), np.uint64(ends[row])
            kind = kinds[row]
            if kind == INTEGER:
                value = integer_at(content, begin, end)
                units[row] = _units_of_integer(value, units_per_one, largest)
            elif kind in (DECIMAL, LONG_DECIMAL):
                units[row], sure[row] = _units_of_decimal(
                    content, kind, begin, end, units_per_one, largest
                )
            else:
                sure[row] = False


@entry_point
def read_times(
    content: Bytes,
    kinds: Bytes,
    begins: Integers,
    ends: Integers,
    sure: Flags,
    milliseconds_per_unit: int,
    latest: int,
    times: Integers,
) -> None:
    """Write the time of each record in milliseconds, which is from 0 to `latest`."""
    last = latest // milliseconds_per_unit
    for row in range(len(times)):
        if sure[row]:
            if kinds[row] == INTEGER:
                value = integer_at(content, np.uint64(begins[row]), np.uint64(ends[row]))
                times[row] = value * milliseconds_per_unit
                sure[row] = 0 <= value <= last
            else:
                sure[row] = False


_PREFIXES = np.frombuffer(b"str:int:", dtype=np.uint8)
PREFIX_BYTES = 4
LONGEST_EVENT_BYTES = 1_000
"""Longer ones are digested by `event_digest`."""
_MIDDLE = 4


@part
def _write_digests(
    lanes: Lanes, text: Bytes, there: int, waiting: Integers, digests: Words
) -> None:
    finish_lanes(lanes, there, text, 0)
    for lane in range(there):
        digests[waiting[lane]] = max(lanes.states[DIGEST_WORDS * lane], np.uint64(1))


@entry_point
def read_events(
    content: Bytes,
    kinds: Bytes,
    begins: Integers,
    ends: Integers,
    sure: Flags,
    fresh: Words,
    lanes: Lanes,
    waiting: Integers,
    digests: Words,
) -> None:
    """Write the digest of the event of each record that is shorter than a lane has room for.

    `fresh` is the state of BLAKE2b before its first block; `waiting` holds the row of each lane.
    """
    text, area = lanes.messages.view(np.uint8), area_bytes(lanes)
    lane = 0
    begin_lanes(lanes, fresh)
    for row in range(len(digests)):
        if sure[row]:
            begin, end = begins[row], ends[row]
            if kinds[row] == TEXT:
                at, begin, end = 0, begin + 1, end - 1
            elif kinds[row] == INTEGER:
                at = _MIDDLE
            else:
                sure[row] = False
                continue
            if end - begin > LONGEST_EVENT_BYTES:
                sure[row] = False
                continue
            place = put_bytes(text, area * lane, _PREFIXES, at, at + PREFIX_BYTES)
            lanes.ends[lane] = put_bytes(text, place, content, begin, end)
            waiting[lane] = row
            lane += 1
            if lane == LANES:
                _write_digests(lanes, text, lane, waiting, digests)
                begin_lanes(lanes, fresh)
                lane = 0
    if lane:
        _write_digests(lanes, text, lane, waiting, digests)
