"""Read whole columns of values from where they are in records, as the domains of codecs do.

A reader takes those records out of `sure` that its domain refuses, or reads in a way of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fugu.dataflows.base.columns import NONE, OptionalByteColumn
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.contributions import Contributions, SetContributions, YesOrNo
from fugu.dataflows.records.numbers import LARGEST, Numbers
from fugu.dataflows.records.payloads import LARGEST_PAYLOAD_BYTES, Payloads
from fugu.dataflows.records.scanned.compiled_objects import FALSE, NULL, TRUE
from fugu.dataflows.records.scanned.compiled_values import (
    SymbolTable,
    read_sets,
    read_symbols,
    read_units,
    sift_payloads,
)
from fugu.dataflows.records.scanned.spans import Spans
from fugu.operators.columns import objects
from fugu.operators.mechanism import Array, Integers

_MOST_BITS = 62
_FINEST_UNIT = 2**53
"""Doubles hold all whole numbers up to here."""


class Reader(Protocol):
    """Read the values of a domain from some fields."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the names of the fields."""
        ...

    def read(self, spans: Spans) -> Array:
        """Return the value of each record; those of records that are not sure mean nothing."""
        ...


@dataclass(frozen=True)
class _Symbols:
    fields: tuple[str]
    table: SymbolTable

    def read(self, spans: Spans) -> Integers:
        span = spans.of(self.fields[0])
        indices = np.zeros(len(span.sure), dtype=np.int64)
        read_symbols(*span, self.table, indices)
        return indices


@dataclass(frozen=True)
class _Sets:
    fields: tuple[str]
    table: SymbolTable

    def read(self, spans: Spans) -> Integers:
        span = spans.of(self.fields[0])
        sets = np.zeros((2, len(span.sure)), dtype=np.int64)
        read_sets(*span, self.table, sets[1])
        return np.ascontiguousarray(sets.T)


@dataclass(frozen=True)
class _Units:
    fields: tuple[str]
    units_per_one: int

    def read(self, spans: Spans) -> Integers:
        span = spans.of(self.fields[0])
        units = np.zeros(len(span.sure), dtype=np.int64)
        read_units(*span, self.units_per_one, LARGEST, units)
        return units


@dataclass(frozen=True)
class _YesOrNo:
    fields: tuple[str]

    def read(self, spans: Spans) -> Integers:
        span = spans.of(self.fields[0])
        yes = span.kinds == TRUE
        np.logical_and(span.sure, yes | (span.kinds == FALSE), out=span.sure)
        ones: Integers = yes.astype(np.int64)
        return ones


@dataclass(frozen=True)
class _Contributions:
    groups: Reader | None
    amounts: Reader | None
    lower: int
    upper: int

    @property
    def fields(self) -> tuple[str, ...]:
        readers = [reader for reader in (self.groups, self.amounts) if reader is not None]
        return tuple(name for reader in readers for name in reader.fields)

    def read(self, spans: Spans) -> Integers:
        pairs = np.empty((len(spans.sure), 2), dtype=np.int64)
        pairs[:, 0] = 0 if self.groups is None else self.groups.read(spans)
        pairs[:, 1] = 1
        if self.amounts is not None:
            pairs[:, 1] = np.clip(self.amounts.read(spans), self.lower, self.upper)
        return pairs


@dataclass(frozen=True)
class _Payloads:
    fields: tuple[str]
    takes_null: bool

    def read(self, spans: Spans) -> Array:
        span = spans.of(self.fields[0])
        sift_payloads(*span, self.takes_null, LARGEST_PAYLOAD_BYTES)
        there = span.sure & (span.kinds != NULL)
        lengths = np.where(there, span.ends - span.begins, NONE)
        return objects(list(OptionalByteColumn(span.content, span.begins, lengths)))


def reader_of(domain: object) -> Reader | None:
    """Return a reader that reads what a domain reads; None if there is none."""
    for known, reader in _READERS.items():
        if isinstance(domain, known) and _reads_like(domain, known):
            return reader(domain)
    return None


def _reads_like(domain: object, known: type) -> bool:
    """Return whether a domain reads as a known one does."""
    names = ("read", "read_column", "index_of")
    return all(getattr(type(domain), name, None) is getattr(known, name, None) for name in names)


def _symbols(alphabet: Alphabet) -> _Symbols | None:
    if {type(symbol) for symbol in alphabet.index} not in ({str}, {int}):
        return None
    return _Symbols((alphabet.field,), SymbolTable.of(alphabet.index, alphabet.other))


def _sets(domain: SetContributions) -> _Sets | None:
    symbols = reader_of(domain.groups)
    if not isinstance(symbols, _Symbols) or domain.groups.size > _MOST_BITS:
        return None
    return _Sets(symbols.fields, symbols.table)


def _units(numbers: Numbers) -> _Units | None:
    if numbers.units_per_one > _FINEST_UNIT:
        return None
    return _Units((numbers.field,), numbers.units_per_one)


def _yes_or_no(domain: YesOrNo) -> _YesOrNo:
    return _YesOrNo((domain.field,))


def _contributions(domain: Contributions) -> _Contributions | None:
    parts = [part for part in (domain.groups, domain.amounts) if part is not None]
    readers = [reader_of(part) for part in parts]
    if None in readers:
        return None
    groups = None if domain.groups is None else readers[0]
    amounts = None if domain.amounts is None else readers[-1]
    return _Contributions(groups, amounts, domain.lower, domain.upper)


def _payloads(domain: Payloads) -> _Payloads | None:
    if len(domain.fields) > 1:
        return None
    return _Payloads((domain.field,), domain.null == "as_none")


_READERS: dict[type, Callable[[Any], Reader | None]] = {
    Alphabet: _symbols,
    Numbers: _units,
    YesOrNo: _yes_or_no,
    Contributions: _contributions,
    SetContributions: _sets,
    Payloads: _payloads,
}
