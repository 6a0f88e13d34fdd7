"""The life cycle of policies, simulated with explicit sets of occurrences and no arithmetic.

A `Household` is one collection. Every occurrence is an object of its own that remembers which
policy it came from; a change is decided by looking at all of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import takewhile

from fugu.operators.swellfish.occurrence import Occurrence
from fugu.operators.swellfish.policy import Policy
from tests.operators.swellfish.zones import HOURLY

BEFORE, AFTER = -1000, 1000
"""No test looks at occurrences that end before the one or start after the other tick."""


@dataclass(eq=False)
class Planned:
    """An occurrence, of a policy that counts under its id from some tick, and until another."""

    policy: str
    occurrence: Occurrence

    def overlaps(self, start: int, end: int) -> bool:
        return any(tick in self.ticks for tick in range(start, end + 1))

    @property
    def ticks(self) -> range:
        return range(self.occurrence.start, self.occurrence.end + 1)


@dataclass
class Household:
    """Follow what is planned at present, and what was known when intervals opened."""

    planned: list[Planned] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=dict)
    """Return from which tick on the id of a policy is free."""
    known: dict[Planned, list[Planned]] = field(default_factory=dict)

    def configure(self, policies: Iterable[Policy]) -> None:
        for policy in policies:
            self._plan(policy, occurrences(policy))

    def _plan(self, policy: Policy, admitted: Iterable[Occurrence]) -> None:
        self.planned += [Planned(policy.id, one) for one in admitted]
        self.ends[policy.id] = AFTER

    def add(self, policy: Policy, effective: int) -> list[Occurrence]:
        """Return what is admitted."""
        already_open = [
            one
            for one in self.planned
            if one.occurrence.start < effective and one.overlaps(effective, effective)
        ]
        admitted = [
            one
            for one in occurrences(policy)
            if one.start >= effective
            and not any(other.overlaps(one.start, one.end) for other in already_open)
        ]
        self._plan(policy, admitted)
        return admitted

    def remove(self, policy: str, effective: int) -> None:
        self.planned = [
            one for one in self.planned if one.policy != policy or one.occurrence.start < effective
        ]
        self.ends[policy] = effective

    def has(self, policy: str, effective: int) -> bool:
        return self.ends.get(policy, BEFORE) > effective

    def open_at(self, tick: int) -> list[Planned]:
        """And remember what is known of each that opens."""
        found = [one for one in self.planned if tick in one.ticks]
        for one in found:
            if one.occurrence.start == tick:
                self.known[one] = self.overlapping(one)
        return found

    def overlapping(self, one: Planned) -> list[Planned]:
        return [
            other
            for other in self.planned
            if other.overlaps(one.occurrence.start, one.occurrence.end)
        ]

    def affected(self, one: Planned) -> int:
        """delta(J), as the specification has it."""
        length = sum(
            min(len(set(one.ticks) & set(other.ticks)), other.occurrence.length)
            for other in self.overlapping(one)
        )
        return min(len(one.ticks), length)


def occurrences(policy: Policy) -> list[Occurrence]:
    """All that tests look at."""
    return list(takewhile(lambda one: one.start <= AFTER, policy.occurrences(BEFORE, HOURLY)))
