"""Keep partial sums of ticks that are not released, in groups that somebody contributed to.

Those of a tick that is complete and waits are kept as one.
"""

import numpy as np

from fugu.dataflows.stages.open_parts import OpenParts
from fugu.dataflows.stages.partial_sums import PartialSums
from fugu.operators.mechanism import Integers


class OpenTicks(OpenParts[PartialSums]):
    """Keep partial sums by tick."""

    def __init__(self) -> None:
        super().__init__(PartialSums.of)

    def add(self, partial: PartialSums) -> None:
        """Keep it, unless nobody contributed."""
        if len(partial.groups):
            self.keep(partial)

    def join(self, tick: int, groups: int) -> None:
        """Keep one sum of all that there is about a tick: nothing more comes."""
        if len(parts := self.of(tick)) > 1:
            total = _total(parts, groups)
            some = np.flatnonzero(total)
            self._parts[tick] = [PartialSums(0, tick, some, total[some])]

    def release(self, tick: int, groups: int) -> Integers:
        """Return the sum of all that there is about a tick, which is not kept any longer."""
        return _total(self.take(tick), groups)


def _total(parts: list[PartialSums], groups: int) -> Integers:
    total = np.zeros(groups, dtype=np.int64)
    for partial in parts:
        total[partial.groups] += partial.sums
    return total
