"""Recognise events that a producer sent twice: the second would be another release of one truth.

With `source.dedupe: {field, remember}`, the last `remember` event ids of every stream are kept as
64-bit digests beside the mechanism's state. A record whose id is among them is a dead letter. The
chance that two ids share a digest is `remember` in 2^64.

>>> dedupe = Deduplication(remember=2)
>>> state = dedupe.remembered(dedupe.start(1), [7], forgetting=np.array([False]))
>>> dedupe.seen(state, [7]).tolist(), dedupe.seen(state, [8]).tolist()
([True], [False])
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from fugu.operators.mechanism import Integers, State

_COLUMN = "recent_events"


def event_digest(event: str | int) -> int:
    """Return the digest of an event id, never 0."""
    content = f"{type(event).__name__}:{event}".encode()
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little") or 1


@dataclass(frozen=True)
class Deduplication:
    """Remember the last events of every row."""

    remember: int

    def start(self, rows: int) -> State:
        """Return columns in which nothing is seen yet; 0 is no event."""
        return {_COLUMN: np.zeros((rows, self.remember), dtype=np.uint64)}

    def seen(self, state: State, events: Sequence[int]) -> NDArray[np.bool_]:
        """Return which of the events, one per row, were seen before."""
        found: NDArray[np.bool_] = (state[_COLUMN] == _digests(events)).any(axis=1)
        return found

    def sifted(
        self, state: State, rows: Integers, events: Sequence[int], ended: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], State]:
        """Return which events were seen before, and the state after all of them.

        Event i is one of row `rows[i]`. The result is that of `seen` and `remembered`, called one
        by one. Rows that are `ended` are left out.
        """
        recent = [deque(row, self.remember) for row in state[_COLUMN].tolist()]
        again = np.zeros(len(rows), dtype=bool)
        asked = ~ended[rows]
        for i in np.flatnonzero(asked).tolist():
            before, event = recent[rows[i]], events[i]
            if event in before:
                again[i] = True
            else:
                before.append(event)
        column = np.array(recent, dtype=np.uint64).reshape(state[_COLUMN].shape)
        column[ended] = 0
        return again, {_COLUMN: column}

    def remembered(
        self, state: State, events: Sequence[int], forgetting: NDArray[np.bool_]
    ) -> State:
        """Return the state with new events, one per row; `forgetting` rows are empty again."""
        shifted = np.concatenate([state[_COLUMN][:, 1:], _digests(events)], axis=1)
        shifted[forgetting] = 0
        return {_COLUMN: shifted}


def _digests(events: Sequence[int]) -> NDArray[np.uint64]:
    return np.array(events, dtype=np.uint64)[:, None]
