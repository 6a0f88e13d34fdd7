"""Partial sums: what the users of one source partition contributed to a tick, exactly.

The internal log that holds them is raw data of the trusted zone, with access rules of its own. A
tick to which nobody contributed has an entry too, because the merge waits for it.
"""

from dataclasses import dataclass

import numpy as np
import orjson

from dataflows.errors import FuguError
from operators.mechanism import Integers


@dataclass(frozen=True)
class Partial:
    """Sums of the groups to which somebody contributed."""

    partition: int
    tick: int
    groups: Integers
    sums: Integers

    def encoded(self) -> bytes:
        """As the log holds it."""
        return orjson.dumps(
            {
                "partition": self.partition,
                "tick": self.tick,
                "groups": self.groups.tolist(),
                "sums": self.sums.tolist(),
            }
        )

    @classmethod
    def decoded(cls, content: bytes | None, place: str) -> "Partial":
        """What `encoded` gave; `place` is for the error."""
        try:
            entry = orjson.loads(content or b"")
            return cls(
                entry["partition"],
                entry["tick"],
                np.array(entry["groups"], dtype=np.int64),
                np.array(entry["sums"], dtype=np.int64),
            )
        except (ValueError, KeyError, TypeError):
            raise FuguError(
                f"{place} is no partial sum of this pipeline; something else writes to its "
                "internal log. Nothing was released from it."
            ) from None
