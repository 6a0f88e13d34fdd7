"""Shrink streams that are exhausted for good to what still counts: a digest of the key, and the
columns that say what was spent and what is repeated.

About 16 bytes a stream instead of a row, its key and Python's overhead. Nothing here changes until
the next compaction: an exhausted stream never changes.
"""

from collections.abc import Sequence

import numpy as np

from fugu.operators import compiled
from fugu.operators.columns import joined, taken
from fugu.operators.digests import digests_of
from fugu.operators.mechanism import Array, Integers, State

DIGEST_BYTES = 16
"""Two of 10^9 keys share a digest with probability 10^-21; the second one would be exhausted."""
_DIGESTS = f"S{DIGEST_BYTES}"


class SpentRows:
    """Keep digests in order, and columns beside them."""

    def __init__(self, columns: State, digests: Array | None = None) -> None:
        """Take columns of the lasting state, one row for each digest (none: no rows)."""
        self.columns = columns
        self.digests = np.zeros(0, dtype=_DIGESTS) if digests is None else digests

    def __len__(self) -> int:
        return len(self.digests)

    def find(self, keys: Sequence[bytes]) -> Integers:
        """Return the row of each key, -1 where there is none."""
        if not len(self):
            return np.full(len(keys), -1, dtype=np.int64)
        digests = _digests(keys)
        if compiled.available():
            from fugu.dataflows.state.compiled_digest_search import places_among

            return places_among(self.digests, digests)
        at = np.searchsorted(self.digests, digests)
        at[at == len(self)] = 0
        return np.where(self.digests[at] == digests, at, -1)

    def joined(self, keys: Sequence[bytes], columns: State) -> "SpentRows":
        """Return these rows and those of other keys."""
        return self.united(SpentRows(columns, _digests(keys)))

    def united(self, others: "SpentRows") -> "SpentRows":
        """Return these rows and others, whose digests may be in any order, each digest once."""
        digests = np.concatenate([self.digests, others.digests])
        digests, first = np.unique(digests, return_index=True)
        return SpentRows(taken(joined([self.columns, others.columns]), first), digests)

    @classmethod
    def from_bytes(cls, columns: State, digests: bytes) -> "SpentRows":
        """Return what `to_bytes` gave, with its columns."""
        return cls(columns, np.frombuffer(digests, dtype=_DIGESTS))

    def to_bytes(self) -> bytes:
        """Return all digests."""
        return self.digests.tobytes()


def _digests(keys: Sequence[bytes]) -> Array:
    return digests_of(keys, DIGEST_BYTES).content.view(_DIGESTS)
