"""Keep partial sums of ticks that are not released: what the merge waits with, however long.

They are kept as they came, in groups that somebody contributed to, and written to a log of their
own: each once, and not again with every snapshot while a partition is silent. Those of a tick that
is complete and waits are kept as one.
"""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from fugu.dataflows.stages.partial_sums import PartialSums
from fugu.dataflows.state.row_block import read, written
from fugu.operators.mechanism import Integers


class OpenTicks:
    """Keep partial sums by tick; those of ticks that were released are gone."""

    def __init__(self) -> None:
        self._sums: dict[int, list[PartialSums]] = defaultdict(list)
        self._added: list[PartialSums] = []
        self._released: list[int] = []

    def __len__(self) -> int:
        return len(self._sums)

    def add(self, partial: PartialSums) -> None:
        """Keep it, unless nobody contributed."""
        if len(partial.groups):
            self._sums[partial.tick].append(partial)
            self._added.append(partial)

    @property
    def ticks(self) -> list[int]:
        """Return the ticks that something is kept about."""
        return list(self._sums)

    def join(self, tick: int, groups: int) -> None:
        """Keep one sum of all that there is about a tick: nothing more comes."""
        if len(parts := self._sums.get(tick, [])) > 1:
            total = _total(parts, groups)
            some = np.flatnonzero(total)
            self._sums[tick] = [PartialSums(0, tick, some, total[some])]

    def release(self, tick: int, groups: int) -> Integers:
        """Return the sum of all that there is about a tick, which is not kept any longer."""
        self._released.append(tick)
        return _total(self._sums.pop(tick, []), groups)

    def take_changes(self) -> bytes:
        """Return a block with what was added and is still there, and what is gone, since the last
        one."""
        added = [partial for partial in self._added if partial.tick in self._sums]
        block = _block(added, self._released)
        self._added, self._released = [], []
        return block

    def take_everything(self) -> bytes:
        """Return a block that makes all of it when applied to nothing."""
        self._added, self._released = [], []
        return _block((one for tick in sorted(self._sums) for one in self._sums[tick]), [])

    def apply(self, block: bytes) -> None:
        """Apply the next block; `StartRefused` if it is damaged."""
        header, body = read(block)
        for tick in header["released"]:
            self._sums.pop(tick, None)
        for content in body.take_each(header["added"]):
            partial = PartialSums.of(*read(content))
            self._sums[partial.tick].append(partial)


def _total(parts: list[PartialSums], groups: int) -> Integers:
    total = np.zeros(groups, dtype=np.int64)
    for partial in parts:
        total[partial.groups] += partial.sums
    return total


def _block(added: Iterable[PartialSums], released: list[int]) -> bytes:
    parts = [partial.encoded() for partial in added]
    return written({"added": [len(part) for part in parts], "released": released}, parts)
