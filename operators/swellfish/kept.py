"""The occurrences of a collection in a range of ticks: which are open, and what they may change."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from fugu.operators.swellfish.expansion import expanded
from fugu.operators.swellfish.occurrences import Admitted

Value = TypeVar("Value")

OpenOne = tuple[int, int, int]
"""The place of a policy, and the first and the last tick of an occurrence."""


@dataclass(frozen=True, slots=True)
class Stretch(Generic[Value]):
    """Hold a value from tick `first` to tick `last`."""

    first: int
    last: int
    value: Value


class Kept:
    """Keep all occurrences that share a tick with [first, last], in order of start and end."""

    def __init__(
        self, admitted: Sequence[Admitted], first: int, last: int, tick_milliseconds: int
    ) -> None:
        self._first, self._last = first, last
        self._found = expanded(admitted if first <= last else (), first, last, tick_milliseconds)
        self._latest = np.maximum.accumulate(self._found.end)
        """The latest end of all that start no later."""

    def holds(self, first: int, last: int) -> bool:
        """Return whether all occurrences of these ticks are here."""
        return self._first <= first and last <= self._last

    def open_at(self, tick: int) -> Stretch[tuple[OpenOne, ...]]:
        """Return what is open at a tick, in order, and from when to when nothing begins or ends."""
        found = self._found
        rows = self._around(tick, tick)
        ends = found.end[rows]
        open_ones = rows.start + np.flatnonzero(ends >= tick)
        begun = int(np.searchsorted(found.start, tick, "right"))
        first, last = self._first, self._last
        if begun:
            first = max(first, int(found.start[begun - 1]))
        if begun < len(found.start):
            last = min(last, int(found.start[begun]) - 1)
        if rows.start:
            first = max(first, int(self._latest[rows.start - 1]) + 1)
        if len(open_ones) < len(ends):
            first = max(first, int(ends[ends < tick].max()) + 1)
        if len(open_ones):
            last = min(last, int(found.end[open_ones].min()))
        columns = (found.policy, found.start, found.end)
        values = zip(*(column[open_ones].tolist() for column in columns), strict=True)
        return Stretch(first, last, tuple(values))

    def affected_in(self, start: int, end: int) -> int:
        """Bound in how many ticks of [start, end] two neighbours differ: delta(J).

        The number is that of `occurrence.affected_ticks`, without a loop.
        """
        rows = self._around(start, end)
        common = np.minimum(self._found.end[rows], end) - np.maximum(self._found.start[rows], start)
        affected = np.minimum(common + 1, self._found.length[rows])
        return min(end - start + 1, int(affected[affected > 0].sum()))

    def _around(self, start: int, end: int) -> slice:
        """Return the rows of all that share a tick with [start, end], and maybe others."""
        first = np.searchsorted(self._latest, start, "left")
        return slice(int(first), int(np.searchsorted(self._found.start, end, "right")))
