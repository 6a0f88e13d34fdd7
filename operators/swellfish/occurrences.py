"""The occurrences of a policy that are admitted."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fugu.operators.swellfish.occurrence import Occurrence
from fugu.operators.swellfish.policy import Policy

SINCE_EVER = -(2**62)
FOR_EVER = 2**62
"""No tick is before the one, or after the other."""

Span = tuple[int, int]
"""The first and the last tick of an interval."""


@dataclass(frozen=True)
class Admitted:
    """Count those occurrences of a policy that start at `first` or later and before `until`.

    A configured policy counts since ever, an added one does not.
    """

    policy: Policy
    first: int = SINCE_EVER
    until: int = FOR_EVER

    @property
    def configured(self) -> bool:
        """Return whether it was there before all changes."""
        return self.first == SINCE_EVER

    def occurrences(self, tick: int, tick_milliseconds: int) -> Iterator[Occurrence]:
        """Yield all that end at `tick` or later, in order of their starts."""
        for occurrence in self.policy.occurrences(max(tick, self.first), tick_milliseconds):
            if occurrence.start >= self.until:
                return
            if occurrence.start >= self.first:
                yield occurrence

    def overlapping(self, start: int, end: int, tick_milliseconds: int) -> Iterator[Occurrence]:
        """Yield all that share a tick with [start, end]."""
        for occurrence in self.occurrences(start, tick_milliseconds):
            if occurrence.start > end:
                return
            yield occurrence

    def next_span(self, tick: int, tick_milliseconds: int) -> Span | None:
        """Return the span of the first occurrence that starts at `tick` or later."""
        for occurrence in self.occurrences(tick, tick_milliseconds):
            if occurrence.start >= tick:
                return occurrence.start, occurrence.end
        return None

    def covers(
        self, occurrence: Occurrence, activities: tuple[str, ...], tick_milliseconds: int
    ) -> bool:
        """Return whether one of its occurrences covers this one of a policy with activities."""
        return includes(self.policy.activities, activities) and any(
            one.covers(occurrence)
            for one in self.overlapping(occurrence.start, occurrence.end, tick_milliseconds)
        )

    def counts_as(self, name: str, tick: int) -> bool:
        """Return whether it has this id, and its occurrences from `tick` on would count."""
        return self.policy.id == name and self.until > tick


def open_spans(admitted: Iterable[Admitted], tick: int, tick_milliseconds: int) -> list[Span]:
    """Return the intervals that started before `tick` and are not over."""
    return [
        (occurrence.start, occurrence.end)
        for one in admitted
        for occurrence in one.overlapping(tick, tick, tick_milliseconds)
        if occurrence.start < tick
    ]


def first_free(effective: int, open_at_it: Iterable[Span]) -> int:
    """Return the first tick at `effective` or later that is after all of them."""
    return max([effective, *(end + 1 for _, end in open_at_it)])


def includes(activities: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Return whether these are all of the others; none are named where any is meant."""
    return not activities or (bool(others) and set(activities) >= set(others))
