"""Publish releases that belong to ticks of streams, and not to records."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from fugu.dataflows.base.batches import DeadLetters, Sanitized
from fugu.operators.byte_column import ByteColumn
from fugu.operators.column import selected
from fugu.operators.columns import taken
from fugu.operators.integer_column import IntegerColumn, column_of
from fugu.operators.mechanism import Array, Integers, Kind, Releases


@dataclass(frozen=True)
class TickReleases:
    """Hold what streams released, each at a tick, with the timestamp that it is published with."""

    keys: ByteColumn
    ticks: Sequence[int]
    timestamps: Sequence[int]
    releases: Releases

    def published(self) -> "TickReleases":
        """Return them without the releases that are suppressed."""
        releases = self.releases
        if releases.kinds is None:
            return self
        index = np.flatnonzero(releases.kinds != Kind.SUPPRESSED)
        if len(index) == len(releases.kinds):
            return self
        return TickReleases(
            self.keys.taken(index),
            selected(self.ticks, index),
            selected(self.timestamps, index),
            Releases(
                releases.values[index],
                taken(releases.annotations, index),
                releases.kinds[index],
            ),
        )


TEMPORAL: tuple[str, ...] = ("tick", "epoch", "phase")
"""The annotations that are published with releases which are displaced in time."""
CONFIDENCE: tuple[str, ...] = ("confidence",)
"""Those of a batch that is released before it is full."""


def sanitized_ticks(
    partition: int,
    released: Sequence[TickReleases],
    dead: DeadLetters,
    said: Sequence[str] = TEMPORAL,
) -> Sanitized:
    """Return everything that is published, in order, with these annotations; streams without epochs
    are in epoch 0 for ever."""
    parts = [part.published() for part in released]
    notes = {
        name: _joined([part.releases.annotations[name] for part in parts], np.int64)
        for name in said
    }
    keys = ByteColumn.chained([part.keys for part in parts])
    return Sanitized(
        partition,
        _chained([part.ticks for part in parts]),
        _chained([part.timestamps for part in parts]),
        keys,
        Releases(_joined([part.releases.values for part in parts], object), notes, _kinds(parts)),
        dead.in_order(),
        epochs=IntegerColumn(notes.get("epoch", np.zeros(len(keys), dtype=np.int64))),
    )


def _kinds(parts: Sequence[TickReleases]) -> Integers | None:
    """Return what each release is, if all parts say so."""
    kinds = [part.releases.kinds for part in parts if part.releases.kinds is not None]
    return np.concatenate(kinds) if parts and len(kinds) == len(parts) else None


def _chained(parts: Sequence[Sequence[int]]) -> IntegerColumn:
    return IntegerColumn(_joined(list(map(column_of, parts)), np.int64))


def _joined(parts: Sequence[Array], dtype: DTypeLike) -> Array:
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)
