"""Propose releases of symbols that are points, by few representatives."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf

import numpy as np

from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip.distances import Points
from fugu.operators.sip.proposals import FewShares, FewTargets, Kernel, Mask, SharedProposal


class Assignment(FewTargets, SharedProposal):
    """Send x to `targets[slot, x]` with probability `weights[slot, x]`.

    `Assignment.merged` sees to it that slots of a symbol with weight have targets of their own.
    """

    @classmethod
    def to(cls, targets: Integers) -> "Assignment":
        """Send every symbol to its one target, `(n, rows)`."""
        return cls(targets[None], np.ones((1, *targets.shape)))

    @classmethod
    def merged(cls, targets: Integers, weights: Floats) -> "Assignment":
        """Add up the weights of one symbol for one and the same target, in its first slot.

        Where that leaves a symbol a single target, its weight is exactly 1.
        """
        weights = weights.copy()
        for later in range(1, len(targets)):
            for slot in range(later):
                same = targets[slot] == targets[later]
                weights[slot] += np.where(same, weights[later], 0.0)
                weights[later][same] = 0.0
        alone = (weights > 0.0).sum(axis=0) == 1
        return cls(targets, np.where(alone & (weights > 0.0), 1.0, weights))

    @cached_property
    def support(self) -> Mask:
        return np.asarray(self._senders > 0)

    def marginal(self, belief: Floats) -> Floats:
        alone = self.support & (self.support.sum(axis=0) == 1)
        return np.where(alone, 1.0, self.expected(belief))

    @property
    def most_targets(self) -> int:
        return len(self.targets)

    def shares(self, total: Words) -> FewShares:
        return FewShares.of(self.targets, self.weights, total)


TIE = 1e-12
_SHARES = (inf, 1.0, 0.6, 0.3)
_REMEMBERED_NUMBERS = 2**22


@dataclass(frozen=True, eq=False)
class MetricKernel(Kernel):
    """Propose for symbols that are points: neighbourhoods of enough mass share a symbol.

    Constants: where symbols are, `gain` = e^eps - 1 and `growth` = e^eps.

    The belief is split again and again along its widest axis, at its median (where the lighter half
    is heaviest), as long as both halves keep theta / (e^eps + 1). Each part goes to the symbol
    nearest its coordinate-wise median. Of theta = 1, 0.6, 0.3 and no split at all (the constant
    output), the cheapest after the repair wins, an earlier one within 1e-12.

    Utility only: whatever is chosen, `ReleaseLaw.repaired` makes it private. Source: SIP
    specification section 3.3. One stream at a time, O(n log n) per level; beliefs seen lately are
    remembered.
    """

    points: Points
    gain: float
    growth: float

    def identity(self) -> tuple[str | int | bytes, ...]:
        return ("metric", 1, *self.points.identity())

    def propose(self, belief: Floats) -> Assignment:
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
        whole = _Part(self.points, belief, np.flatnonzero(belief > 0.0))
        best, least = [whole], inf
        for share in _SHARES:
            parts = list(whole.parts(share / (self.growth + 1.0)))
            cost = self._cost(parts)
            if cost < least - TIE:
                best, least = parts, cost
        return self._targets(belief, best)

    def _cost(self, parts: Iterable["_Part"]) -> float:
        """Return the expected distance after the repair."""
        marginal: dict[int, float] = {}
        apart: dict[int, float] = {}
        cost, total = 0.0, self.gain
        for part in parts:
            representative = part.representative
            marginal[representative] = marginal.get(representative, 0.0) + part.mass
            moved, apart[representative] = part.costs
            cost += self.gain * moved
        for representative, arriving in marginal.items():
            mass = max(arriving, 1.0 - self.growth * arriving)
            cost += mass * apart[representative]
            total += mass
        return cost / total

    def _targets(self, belief: Floats, parts: Iterable["_Part"]) -> Integers:
        """Send each symbol to its representative; those of belief zero go to the nearest one."""
        targets = np.zeros(len(belief), dtype=np.int64)
        impossible = belief == 0.0
        least = np.where(impossible, inf, 0.0)
        for part in parts:
            targets[part.members] = part.representative
            if impossible.any():
                distances = part.distances()
                nearer = distances < least
                targets[nearer] = part.representative
                least[nearer] = distances[nearer]
        return targets


@dataclass(frozen=True, eq=False)
class _Part:
    """Hold some of the symbols that are possible, in ascending order."""

    points: Points
    belief: Floats
    members: Integers

    def parts(self, threshold: float) -> Iterator["_Part"]:
        """Yield the parts that it falls into while both halves keep the threshold."""
        waiting = [self]
        while waiting:
            part = waiting.pop()
            if part.lighter >= threshold:
                waiting += part.halves
            else:
                yield part

    @cached_property
    def mass(self) -> float:
        """Return what is believed of all members together."""
        return _sum(self.belief[self.members])

    @cached_property
    def lighter(self) -> float:
        """Return the mass of the lighter half."""
        _, balance = self._widest
        return float(balance.max())

    @cached_property
    def halves(self) -> tuple["_Part", "_Part"]:
        """Split at the median of the widest axis."""
        ordered, balance = self._widest
        cut = int(np.argmax(balance)) + 1
        lower, upper = np.sort(ordered[:cut]), np.sort(ordered[cut:])
        return _Part(self.points, self.belief, lower), _Part(self.points, self.belief, upper)

    @cached_property
    def representative(self) -> int:
        """Return the symbol nearest the coordinate-wise median."""
        median = np.empty(self.points.coordinates.shape[1])
        for axis in range(len(median)):
            ordered, reached = self._along(axis)
            middle = ordered[np.argmax(2.0 * reached >= reached[-1])]
            median[axis] = self.points.coordinates[middle, axis]
        return int(np.argmin(self.points.to(median)))

    def distances(self) -> Floats:
        """Return how far every symbol is from the representative."""
        return self.points.to(self.points.coordinates[self.representative])

    @cached_property
    def costs(self) -> tuple[float, float]:
        """Return how far members move to the representative, and the truth from it."""
        weighted = self.belief * self.distances()
        return _sum(weighted[self.members]), _sum(weighted)

    @cached_property
    def _widest(self) -> tuple[Integers, Floats]:
        """Return members along the widest axis, and the lighter mass of a cut behind each."""
        placed = self.points.coordinates[self.members]
        ordered, reached = self._along(int(np.argmax(placed.max(axis=0) - placed.min(axis=0))))
        return ordered, np.minimum(reached, reached[-1] - reached)

    def _along(self, axis: int) -> tuple[Integers, Floats]:
        """Return members in the order of an axis, and the running sum of their belief."""
        order = np.argsort(self.points.coordinates[self.members, axis], kind="stable")
        ordered = self.members[order]
        return ordered, np.cumsum(self.belief[ordered])


def _sum(numbers: Floats) -> float:
    """Add one number after the other."""
    return float(np.cumsum(numbers)[-1])
