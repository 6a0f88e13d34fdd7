"""Publish releases that belong to ticks of streams, and not to records."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from fugu.dataflows.base.batches import DeadLetters, Sanitized
from fugu.operators.columns import taken
from fugu.operators.mechanism import Array, Kind, Releases


@dataclass(frozen=True)
class TickReleases:
    """Hold what streams released, each at a tick, with the timestamp that it is published with."""

    keys: list[bytes]
    ticks: list[int]
    timestamps: list[int]
    releases: Releases

    def published(self) -> "TickReleases":
        """Return them without the releases that are suppressed."""
        releases = self.releases
        if releases.kinds is None:
            return self
        index = np.flatnonzero(releases.kinds != Kind.SUPPRESSED)
        shown = index.tolist()
        return TickReleases(
            [self.keys[row] for row in shown],
            [self.ticks[row] for row in shown],
            [self.timestamps[row] for row in shown],
            Releases(releases.values[index], taken(releases.annotations, index)),
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
    keys = [key for part in parts for key in part.keys]
    return Sanitized(
        partition,
        [tick for part in parts for tick in part.ticks],
        [timestamp for part in parts for timestamp in part.timestamps],
        keys,
        Releases(_joined([part.releases.values for part in parts], object), notes),
        dead.in_order(),
        epochs=notes["epoch"].tolist() if "epoch" in notes else [0] * len(keys),
    )


def _joined(parts: Sequence[Array], dtype: DTypeLike) -> Array:
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)
