"""A timeline over a few occurrences, by the formulas and nothing else."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from fugu.operators.swellfish.policy import Occurrence
from fugu.operators.swellfish.relevance import Interval, Relevance

Person = tuple[Occurrence, ...]


@dataclass(frozen=True)
class FixedTimeline:
    """Hide what several people want of a sum, to which each contributes up to so many units."""

    people: tuple[Person, ...]
    largest_sensitivity: int
    tick_milliseconds: int = 1000

    def relevance(self, tick: int, changes: bytes) -> Relevance:
        sensitivity, affected = 0, dict[tuple[int, int], int]()
        for person in self.people:
            open_ones = [one for one in person if one.start <= tick <= one.end]
            change = sum(one.change_at(tick) for one in open_ones)
            sensitivity = max(sensitivity, min(change, self.largest_sensitivity))
            for one in open_ones:
                span = one.start, one.end
                affected[span] = max(affected.get(span, 0), affected_by(person, one))
        intervals = [Interval(*span, delta) for span, delta in sorted(affected.items())]
        return Relevance(sensitivity, tuple(intervals))

    def told(self, changes: bytes, change: bytes, now: int) -> bytes:
        raise ValueError("change: this timeline is fixed")

    def explained(self, changes: bytes, change: bytes, now: int) -> str:
        return self.told(changes, change, now).decode()

    def digest(self) -> bytes:
        return blake2b(repr(self).encode(), digest_size=32).digest()

    @property
    def ticks(self) -> int:
        """After so many, nothing is relevant any more."""
        return 1 + max(one.end for person in self.people for one in person)

    @property
    def longest(self) -> int:
        """Return the length of the longest interval, in ticks."""
        return max(one.ticks for person in self.people for one in person)

    def intervals(self) -> Iterator[Interval]:
        """Every interval of every person, with that person's delta(J)."""
        for person in self.people:
            for one in person:
                yield Interval(one.start, one.end, affected_by(person, one))


def affected_by(person: Person, interval: Occurrence) -> int:
    """delta(J)."""
    affected = sum(one.affected_in(interval.start, interval.end) for one in person)
    return min(interval.ticks, affected)


def random_timeline(
    seed: int,
    *,
    people: int = 3,
    occurrences: int = 6,
    length: int = 8,
    pattern: int = 3,
    largest: int = 9,
) -> FixedTimeline:
    """Up to so many people with up to so many occurrences, which overlap as they like, are up to
    `length` ticks long, and hide up to `pattern` of them; changes add up to `largest` at most."""
    rng = np.random.default_rng(seed)

    def occurrence() -> Occurrence:
        start, ticks = int(rng.integers(0, 2 * length)), int(rng.integers(1, length + 1))
        thresholds = rng.integers(0, 4, size=rng.integers(1, min(pattern, ticks) + 1))
        return Occurrence(start, start + ticks - 1, tuple(thresholds.tolist()))

    def person() -> Person:
        return tuple(occurrence() for _ in range(rng.integers(1, occurrences + 1)))

    return FixedTimeline(tuple(person() for _ in range(rng.integers(1, people + 1))), largest)
