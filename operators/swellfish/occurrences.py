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

    def spans(self, tick: int, tick_milliseconds: int) -> Iterator[Span]:
        """Yield the intervals of all that end at `tick` or later, in order of their starts."""
        for start, end in self.policy.when.intervals(max(tick, self.first), tick_milliseconds):
            if start >= self.until:
                return
            if start >= self.first:
                yield start, end

    def spans_in(self, start: int, end: int, tick_milliseconds: int) -> Iterator[Span]:
        """Yield the intervals of all that share a tick with [start, end]."""
        for span in self.spans(start, tick_milliseconds):
            if span[0] > end:
                return
            yield span

    def overlapping(self, start: int, end: int, tick_milliseconds: int) -> Iterator[Occurrence]:
        """Yield all that share a tick with [start, end]."""
        for span in self.spans_in(start, end, tick_milliseconds):
            yield self.policy.occurrence(*span)

    def next_span(self, tick: int, tick_milliseconds: int) -> Span | None:
        """Return the span of the first occurrence that starts at `tick` or later."""
        return next((span for span in self.spans(tick, tick_milliseconds) if span[0] >= tick), None)

    def counts_as(self, name: str, tick: int) -> bool:
        """Return whether it has this id, and its occurrences from `tick` on would count."""
        return self.policy.id == name and self.until > tick


def open_spans(admitted: Iterable[Admitted], tick: int, tick_milliseconds: int) -> list[Span]:
    """Return the intervals that started before `tick` and are not over."""
    return [
        span
        for one in admitted
        for span in one.spans_in(tick, tick, tick_milliseconds)
        if span[0] < tick
    ]


def first_free(effective: int, open_at_it: Iterable[Span]) -> int:
    """Return the first tick at `effective` or later that is after all of them."""
    return max([effective, *(end + 1 for _, end in open_at_it)])
