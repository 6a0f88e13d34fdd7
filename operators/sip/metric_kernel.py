"""The proposal kernel for symbols that are points: neighbourhoods of enough mass share a symbol.

The belief is split again and again along its widest axis, at its median (where the lighter half is
heaviest), as long as both halves keep theta / (e^eps + 1). Each part goes to the symbol nearest its
coordinate-wise median. Of theta = 1, 0.6, 0.3 and no split at all (the constant output), the
cheapest after the repair wins, an earlier one within 1e-12.

Utility only: whatever is chosen, `ReleaseLaw.repaired` makes it private. Source: SIP specification
section 3.3. One stream at a time, O(n log n) per level; beliefs seen lately are remembered.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf

import numpy as np

from operators.mechanism import Floats, Integers
from operators.sip.assignment import Assignment
from operators.sip.distances import Points
from operators.sip.release_law import ReleaseLaw

TIE = 1e-12
_SHARES = (inf, 1.0, 0.6, 0.3)
_REMEMBERED_NUMBERS = 2**22


@dataclass(frozen=True, eq=False)
class MetricKernel:
    """The kernel's constants: where symbols are, `gain` = e^eps - 1 and `growth` = e^eps."""

    points: Points
    gain: float
    growth: float

    def identity(self) -> tuple[str | int | bytes, ...]:
        """Its name and version, and where the symbols are."""
        return ("metric", 1, *self.points.identity())

    def propose(self, belief: Floats) -> Assignment:
        """The cheapest candidate for each column of `belief`."""
        targets = np.empty(belief.shape, dtype=np.int64)
        for row, column in enumerate(np.ascontiguousarray(belief.T)):
            targets[:, row] = self._remembered(column.tobytes())
        return Assignment.to(targets)

    @cached_property
    def _remembered(self) -> Callable[[bytes], Integers]:
        size = max(16, _REMEMBERED_NUMBERS // (2 * len(self.points.coordinates)))
        return lru_cache(size)(self._cheapest)

    def _cheapest(self, content: bytes) -> Integers:
        belief = np.frombuffer(content)
        best, least = np.zeros(len(belief), dtype=np.int64), inf
        for share in _SHARES:
            targets = self._projection(belief, share / (self.growth + 1.0))
            cost = self._cost(belief, targets)
            if cost < least - TIE:
                best, least = targets, cost
        return best

    def _projection(self, belief: Floats, threshold: float) -> Integers:
        """Which symbol each one goes to; those of belief zero go to the nearest of them."""
        targets = np.zeros(len(belief), dtype=np.int64)
        representatives = []
        for part in self._parts(belief, threshold):
            representative = self._representative(belief, part)
            targets[part] = representative
            representatives.append(representative)
        impossible = np.flatnonzero(belief == 0.0)
        if len(impossible):
            targets[impossible] = self._nearest(impossible, np.unique(representatives))
        return targets

    def _parts(self, belief: Floats, threshold: float) -> Iterator[Integers]:
        waiting = [np.flatnonzero(belief > 0.0)]
        while waiting:
            members = waiting.pop()
            ordered, reached = self._along(belief, members, self._widest(members))
            lighter = np.minimum(reached, reached[-1] - reached)
            cut = int(np.argmax(lighter))
            if lighter[cut] >= threshold:
                waiting += [ordered[: cut + 1], ordered[cut + 1 :]]
            else:
                yield members

    def _widest(self, members: Integers) -> int:
        placed = self.points.coordinates[members]
        return int(np.argmax(placed.max(axis=0) - placed.min(axis=0)))

    def _along(self, belief: Floats, members: Integers, axis: int) -> tuple[Integers, Floats]:
        """Members in the order of an axis, and the running sum of their beliefs."""
        members = np.sort(members)
        order = np.argsort(self.points.coordinates[members, axis], kind="stable")
        return members[order], np.cumsum(belief[members[order]])

    def _representative(self, belief: Floats, members: Integers) -> int:
        median = []
        for axis in range(self.points.coordinates.shape[1]):
            ordered, reached = self._along(belief, members, axis)
            middle = ordered[int(np.argmax(2.0 * reached >= reached[-1]))]
            median.append(self.points.coordinates[middle, axis])
        return int(np.argmin(self.points.to(np.array(median))))

    def _nearest(self, symbols: Integers, representatives: Integers) -> Integers:
        nearest = np.zeros(len(symbols), dtype=np.int64)
        least = np.full(len(symbols), inf)
        for representative in representatives:
            far = self._to(int(representative))[symbols]
            nearest = np.where(far < least, representative, nearest)
            least = np.minimum(far, least)
        return nearest

    def _cost(self, belief: Floats, targets: Integers) -> float:
        law = ReleaseLaw.repaired(
            belief[:, None], Assignment.to(targets[:, None]), self.gain, self.growth
        )
        support = np.flatnonzero(law.proposal.support[:, 0])
        mass = law.mass[support, 0]
        apart = np.array([_sum(belief * self._to(int(symbol))) for symbol in support])
        moved = _sum(belief * self._to(targets))
        return (self.gain * moved + _sum(mass * apart)) / (self.gain + _sum(mass))

    def _to(self, symbols: int | Integers) -> Floats:
        """How far every symbol is from one, or from one of its own."""
        return self.points.to(self.points.coordinates[symbols])


def _sum(numbers: Floats) -> float:
    """One addition after the other."""
    return float(np.cumsum(numbers)[-1])
