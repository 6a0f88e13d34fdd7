"""A producer's retry carries a new offset and would be a second release of one truth.

With `source.dedupe: {field, remember}`, the last `remember` event ids of every stream are kept as
64-bit digests beside the mechanism's state; a record whose id is among them is a dead letter. The
chance that two ids share a digest is `remember` in 2^64.

>>> dedupe = Deduplication(remember=2)
>>> state, seen = dedupe.step(dedupe.start(1), [7])
>>> dedupe.step(state, [7])[1].tolist(), dedupe.step(state, [8])[1].tolist()
([True], [False])
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from operators.mechanism import State

_COLUMN = "recent_events"


def event_digest(event: str | int) -> int:
    """A digest of an event id, never 0."""
    content = f"{type(event).__name__}:{event}".encode()
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little") or 1


@dataclass(frozen=True)
class Deduplication:
    """Remembers the last events of every row."""

    remember: int

    def start(self, rows: int) -> State:
        """Nothing seen yet; 0 is no event."""
        return {_COLUMN: np.zeros((rows, self.remember), dtype=np.uint64)}

    def step(self, state: State, events: Sequence[int]) -> tuple[State, NDArray[np.bool_]]:
        """Which of the events, one per row, were seen before; new ones are remembered."""
        recent = state[_COLUMN]
        digests = np.array(events, dtype=np.uint64)[:, None]
        seen: NDArray[np.bool_] = (recent == digests).any(axis=1)
        shifted = np.concatenate([recent[:, 1:], digests], axis=1)
        return {_COLUMN: np.where(seen[:, None], recent, shifted)}, seen
