"""Look up symbols of an alphabet, by the bytes that they are written with."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fugu.dataflows.records.scanned.compiled_numerals import INTEGER
from fugu.dataflows.records.scanned.compiled_objects import (
    COMMA,
    LIST,
    TEXT,
    Flags,
    after_scalar,
    after_spaces,
)
from fugu.operators.byte_column import ByteColumn, Bytes
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.mechanism import Integers

_OUTSIDE, _VACANT = -1, -1
_ONE, _HALF = np.uint64(1), np.uint64(32)
_BASIS, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
"""Those of FNV-1a."""


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


@part
def _index_of(content: Bytes, begin: np.uint64, end: np.uint64, table: SymbolTable) -> int:
    """Return the index of the symbol that is written here, or `other`."""
    state, at = _BASIS, begin
    while at < end:
        state = (state ^ np.uint64(content[at])) * _PRIME
        at += _ONE
    last = np.uint64(len(table.slots) - 1)
    slot = (state ^ state >> _HALF) & last
    while table.slots[slot] != _VACANT:
        symbol = np.uint64(table.slots[slot])
        if np.uint64(table.lengths[symbol]) == end - begin:
            text, at = np.uint64(table.begins[symbol]), begin
            while at < end and content[at] == table.texts[text]:
                at, text = at + _ONE, text + _ONE
            if at == end:
                return int(table.indices[symbol])
        slot = (slot + _ONE) & last
    return table.other


@part
def _index_of_scalar(
    content: Bytes, kind: np.uint8, begin: np.uint64, end: np.uint64, table: SymbolTable
) -> int:
    """Return the index of a string or number, or a negative one if it is not sure to have any."""
    if table.is_text:
        return _index_of(content, begin + _ONE, end - _ONE, table) if kind == TEXT else _OUTSIDE
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
    last = end - _ONE
    at = after_spaces(content, begin + _ONE, last)
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
            at = after_spaces(content, at + _ONE, last)
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
