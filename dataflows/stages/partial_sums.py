"""Write what the users of one source partition contributed to a tick, exactly.

A tick to which nobody contributed has an entry in the log too, because the merge waits for it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fugu.dataflows.state.row_block import Body, written
from fugu.operators.mechanism import Array, Integers

_TYPES = ("<i1", "<i2", "<i4", "<i8")


@dataclass(frozen=True)
class PartialSums:
    """Hold the sums of the groups to which somebody contributed; so many ticks right before this
    one were `skipped`, to which nobody can have contributed."""

    partition: int
    tick: int
    groups: Integers
    sums: Integers
    skipped: int = 0
    part: ClassVar[int] = 0

    def encoded(self) -> bytes:
        """Return the block that the log holds, with groups as steps from one to the next.

        Both are as narrow as they can be, so that 2^17 groups fit a Kafka message of a megabyte.
        """
        steps, sums = (_narrowed(part) for part in (np.diff(self.groups, prepend=0), self.sums))
        header = {
            "partition": self.partition,
            "tick": self.tick,
            "groups": len(steps),
            "types": [steps.dtype.str, sums.dtype.str],
            **({"skipped": self.skipped} if self.skipped else {}),
        }
        return written(header, [steps.tobytes(), sums.tobytes()])

    @classmethod
    def of(cls, header: dict[str, Any], body: Body) -> "PartialSums":
        """Return what a block of `encoded` holds."""
        steps, sums = (
            body.take(header["groups"], kind).astype(np.int64) for kind in header["types"]
        )
        place, skipped = (header["partition"], header["tick"]), header.get("skipped", 0)
        return cls(*place, np.cumsum(steps), sums, skipped)


def _narrowed(integers: Integers) -> Array:
    """Return integers in the narrowest type that holds all of them, little-endian."""
    low, high = integers.min(initial=0), integers.max(initial=0)
    narrowest = next(
        kind for kind in _TYPES if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max
    )
    return integers.astype(narrowest)
