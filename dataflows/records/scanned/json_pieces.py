"""Hold what stands between wanted fields where they are written as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import orjson

from fugu.dataflows.base.field_paths import Step, holds, placed
from fugu.dataflows.records.scanned.compiled_objects import Flags
from fugu.dataflows.records.scanned.compiled_slots import LONGEST_NUMBER
from fugu.operators.byte_column import Bytes, bytes_of
from fugu.operators.compiled.compiling import read_only
from fugu.operators.mechanism import Integers

NO_SLOT = -1

Wanted = Sequence[tuple[tuple[Step, ...], int]]
"""Paths of fields below a type, as far as they are left, each with the slot of its field."""


class NotCompiled(Exception):
    """Report that a field is of a type that compiled code does not write."""


class Source(NamedTuple):
    """Hold records, and where each of them is."""

    content: Bytes
    begins: Integers
    lengths: Integers


@dataclass
class Into:
    """Hold room for records as JSON, where each of them is in it, and where room is left."""

    content: Bytes
    begins: Integers
    lengths: Integers
    sure: Flags
    end: int = 0


@dataclass(frozen=True)
class JsonPieces:
    """Hold pieces of JSON, and names of enums as JSON, each with where the next one begins."""

    content: Bytes
    ends: Integers
    symbols: Bytes
    symbol_ends: Integers

    @classmethod
    def of(cls, names: Sequence[str], symbols: Sequence[bytes]) -> "JsonPieces":
        """Return what stands between fields with these names."""
        pieces = _pieces(names)
        return cls(
            bytes_of(b"".join(pieces)), _ends(pieces), bytes_of(b"".join(symbols)), _ends(symbols)
        )

    @property
    def slots(self) -> int:
        """Return how many fields there are."""
        return len(self.ends) - 2

    @property
    def most_written(self) -> int:
        """Return how many bytes a record becomes at most, beside its own texts."""
        symbol = int(np.diff(self.symbol_ends).max(initial=0))
        return len(self.content) + self.slots * max(LONGEST_NUMBER, symbol)


def compilable(names: Sequence[str]) -> Sequence[str]:
    """Return each name once; `NotCompiled` where there is none, or one field holds another."""
    names = list(dict.fromkeys(names))
    if not names or any(holds(a, b) for a in names for b in names if a != b):
        raise NotCompiled
    return names


def _ends(parts: Sequence[bytes]) -> Integers:
    return read_only(np.cumsum([0, *map(len, parts)]))


def _pieces(names: Sequence[str]) -> list[bytes]:
    """Return what JSON has before, between and behind the fields, in their order.

    >>> _pieces(["data.zone", "at"])
    [b'{"data":{"zone":', b'},"at":', b'}']
    """
    marks = {name: f"\0{slot}\0" for slot, name in enumerate(names)}
    rest, pieces = orjson.dumps(placed(marks)), list[bytes]()
    for mark in marks.values():
        piece, _, rest = rest.partition(orjson.dumps(mark))
        pieces.append(piece)
    return [*pieces, rest]


def slot_of(wanted: Wanted) -> int:
    """Return the slot of a value that is wanted itself; NO_SLOT where none of it is."""
    return next((slot for rest, slot in wanted if not rest), NO_SLOT)
