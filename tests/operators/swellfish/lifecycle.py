"""The life cycle of policies, simulated with explicit sets of occurrences and no arithmetic.

A `Household` is one collection. Every occurrence is an object of its own that remembers which
policy it came from; a change is decided by looking at all of them. What it hides is enumerated.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from fugu.operators.swellfish.policy import Occurrence, Policy
from tests.operators.swellfish.zones import HOURLY

BEFORE, AFTER = -1000, 1000
"""No test looks at occurrences that end before the one or start after the other tick."""


@dataclass(eq=False)
class Planned:
    """An occurrence of a policy, of which there may be several with the same id, one after the
    other."""

    policy: Policy
    occurrence: Occurrence

    @property
    def start(self) -> int:
        return self.occurrence.start

    @property
    def span(self) -> tuple[int, int]:
        return self.occurrence.start, self.occurrence.end

    @property
    def ticks(self) -> range:
        return range(self.occurrence.start, self.occurrence.end + 1)

    def overlaps(self, start: int, end: int) -> bool:
        return any(tick in self.ticks for tick in range(start, end + 1))


@dataclass
class Household:
    """Follow what is planned at present, and what was known when intervals opened."""

    notice: int = 0
    planned: list[Planned] = field(default_factory=list)
    owed: list[Planned] = field(default_factory=list)
    """Occurrences that people were told are hidden, and that were not revoked in time."""
    known: dict[Planned, list[Planned]] = field(default_factory=dict)

    def configure(self, policies: Iterable[Policy]) -> None:
        for policy in policies:
            self._plan(planned(policy))

    def _plan(self, admitted: list[Planned]) -> None:
        self.planned += admitted
        self.owed += admitted

    def has(self, name: str, tick: int) -> bool:
        """Return whether anything of a policy with this id begins at the tick or later."""
        return any(one.policy.id == name and one.start >= tick for one in self.planned)

    def change(self, name: str, policy: Policy | None, effective: int, now: int) -> None:
        """Let a policy come instead of those with this id, or none."""
        effective = max(effective, now)
        already_open = [one for one in self.planned if one.start < now and now in one.ticks]
        new = [
            one
            for one in planned(policy)
            if one.start >= effective
            and not any(other.overlaps(*one.span) for other in already_open)
        ]
        told_until = max(effective, now + self.notice)
        gone = [one for one in self.planned if one.policy.id == name and one.start >= effective]
        missed = [
            one
            for one in gone
            if one.start < told_until and not any(covers(other, one) for other in new)
        ]
        kept = [
            one
            for one in gone
            if any(one.start < other.start for other in new[:1])
            or any(one.policy is other.policy and one.start <= other.start for other in missed)
        ]
        self.planned = [one for one in self.planned if one not in gone or one in kept]
        self.owed = [
            one
            for one in self.owed
            if one.policy.id != name or one.start < max([told_until, *(n.start for n in new[:1])])
        ]
        self._plan(new)

    def open_at(self, tick: int) -> list[Planned]:
        """And remember what is known of each that opens."""
        found = [one for one in self.planned if tick in one.ticks]
        for one in found:
            if one.start == tick:
                self.known[one] = self.overlapping(one)
        return found

    def lost_at(self, tick: int) -> list[Planned]:
        """Return what begins now, is owed, and is not hidden by anything that is planned."""
        return [
            one
            for one in self.owed
            if one.start == tick and not any(hides(other, one) for other in self.planned)
        ]

    def overlapping(self, one: Planned) -> list[Planned]:
        return [other for other in self.planned if other.overlaps(*one.span)]

    def affected(self, one: Planned) -> int:
        """delta(J), as the specification has it."""
        length = sum(
            min(len(set(one.ticks) & set(other.ticks)), other.occurrence.length)
            for other in self.overlapping(one)
        )
        return min(len(one.ticks), length)


def covers(one: Planned, other: Planned) -> bool:
    """Return whether the one is as wide, as long and as high, as documents may put it."""
    its, own = other.occurrence, one.occurrence
    if not set(other.ticks) <= set(one.ticks) or own.length < its.length:
        return False
    pointwise = [a >= b for a, b in zip(own.thresholds, its.thresholds, strict=False)]
    alike = own.length == its.length and all(pointwise)
    return alike or min(own.thresholds) >= max(its.thresholds)


def hides(one: Planned, other: Planned) -> bool:
    """Return whether every pattern of the other is below some pattern of the one, at every tick."""
    return one is other or all(
        any(all(pattern.get(t, 0) <= above.get(t, 0) for t in pattern) for above in patterns(one))
        for pattern in patterns(other)
    )


def patterns(one: Planned) -> Iterator[dict[int, int]]:
    """By how much each tick may change, for every start."""
    thresholds = one.occurrence.thresholds
    for start in one.ticks[: len(one.ticks) - len(thresholds) + 1]:
        yield dict(enumerate(thresholds, start))


def planned(policy: Policy | None) -> list[Planned]:
    return [Planned(policy, one) for one in occurrences(policy)] if policy else []


def occurrences(policy: Policy) -> list[Occurrence]:
    """All that tests look at."""
    return list(takewhile(lambda one: one.start <= AFTER, policy.occurrences(BEFORE, HOURLY)))
