"""Decode batches that are columns of bytes; what the scanner is not sure of, as lists."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from fugu.dataflows.base.batches import Batch, DeadLetters, Decoded, RefusedRecords
from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.records.scanned.compiled_objects import Flags
from fugu.dataflows.records.scanner import Found, Scanner
from fugu.operators.columns import ByteColumn, Cell, IntegerColumn, column_of, selected
from fugu.operators.mechanism import Integers

_FEW = 8
"""The bound below which no list of all records is made: one taken record in so many."""

Decode = Callable[[Batch], Decoded]


def decode_columns(batch: Batch, scanner: Scanner, longest_key: int, decode: Decode) -> Decoded:
    """Return what `decode` returns; it is called with lists of what is not sure."""
    found = scanner.read(OptionalByteColumn.of(batch.values))
    keys: OptionalByteColumn | ByteColumn = (
        OptionalByteColumn.of(batch.keys) if found.keys is None else found.keys
    )
    accepted = found.sure & (keys.lengths > 0) & (keys.lengths <= longest_key)
    offsets = column_of(batch.offsets)
    times = np.maximum(column_of(batch.timestamps), 0) if found.times is None else found.times
    dead, refused = DeadLetters(), RefusedRecords()
    kept: Integers | slice = slice(None)
    if not accepted.all():
        others = decode(_listed(batch, np.flatnonzero(~accepted)))
        _put(others, found, times, accepted)
        if found.keys is not None:
            keys = found.keys.replaced(column_of(others.offsets), ByteColumn.of(others.keys))
        dead = replace(others.dead, offsets=offsets[others.dead.offsets].tolist())
        refused = replace(others.refused, offsets=offsets[others.refused.offsets].tolist())
        kept = np.flatnonzero(accepted)
    return Decoded(
        batch.partition,
        IntegerColumn(offsets[kept]),
        IntegerColumn(times[kept]),
        ByteColumn(keys.content, keys.begins[kept], keys.lengths[kept]),
        found.values[kept],
        None if found.events is None else IntegerColumn(cast(Integers, found.events[kept])),
        dead,
        refused,
    )


def _listed(batch: Batch, places: Integers) -> Batch:
    """Return the records at these places as lists; their offsets are the places."""
    return Batch(
        batch.partition,
        places.tolist(),
        _list_of(batch.timestamps, places),
        _list_of(batch.keys, places),
        _list_of(batch.values, places),
        [[] for _ in places],
    )


def _list_of(column: Sequence[Cell], places: Integers) -> list[Cell]:
    if len(places) * _FEW < len(column):
        return [column[place] for place in places.tolist()]
    return list(selected(column, places))


def _put(others: Decoded, found: Found, times: Integers, accepted: Flags) -> None:
    """Write what else is accepted into the columns of what is sure."""
    places = column_of(others.offsets)
    if not len(places):
        return
    accepted[places], times[places] = True, others.timestamps
    found.values[places] = others.values
    if found.events is not None and others.events is not None:
        found.events[places] = np.array(others.events, dtype=np.uint64)
