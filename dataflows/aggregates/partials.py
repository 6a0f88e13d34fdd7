"""Partial sums: what the users of one source partition contributed to a tick, exactly.

The internal log that holds them is raw data of the trusted zone, with access rules of its own. A
tick to which nobody contributed has an entry too, because the merge waits for it.
"""

from dataclasses import dataclass

import numpy as np

from dataflows.errors import FuguError, StartRefused
from dataflows.state.row_block import read, written
from operators.mechanism import Array, Integers

_TYPES = ("<i1", "<i2", "<i4", "<i8")


@dataclass(frozen=True)
class Partial:
    """Sums of the groups to which somebody contributed."""

    partition: int
    tick: int
    groups: Integers
    sums: Integers

    def encoded(self) -> bytes:
        """As the log holds it: a block, with groups as steps from one to the next.

        Both are as narrow as they can be, so that 2^17 groups fit a Kafka message of a megabyte.
        """
        steps, sums = (_narrowed(part) for part in (np.diff(self.groups, prepend=0), self.sums))
        header = {
            "partition": self.partition,
            "tick": self.tick,
            "groups": len(steps),
            "types": [steps.dtype.str, sums.dtype.str],
        }
        return written(header, [steps.tobytes(), sums.tobytes()])

    @classmethod
    def decoded(cls, content: bytes | None, place: str) -> "Partial":
        """What `encoded` gave; `place` is for the error."""
        try:
            header, body = read(content or b"")
            steps, sums = (
                body.take(header["groups"], kind).astype(np.int64) for kind in header["types"]
            )
            return cls(header["partition"], header["tick"], np.cumsum(steps), sums)
        except (StartRefused, ValueError, KeyError, TypeError):
            raise FuguError(
                f"{place} is no partial sum of this pipeline; something else writes to its "
                "internal log. Nothing was released from it."
            ) from None


def _narrowed(integers: Integers) -> Array:
    """In the narrowest type that holds all of them, little-endian."""
    low, high = integers.min(initial=0), integers.max(initial=0)
    narrowest = next(
        kind for kind in _TYPES if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max
    )
    return integers.astype(narrowest)
