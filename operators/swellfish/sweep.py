"""A sweep over time that remembers where it is: an answer holds for a stretch of ticks."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Generic, TypeVar

from fugu.operators.swellfish.occurrence import Occurrence, affected_ticks
from fugu.operators.swellfish.occurrences import FOR_EVER, SINCE_EVER, Admitted, Span
from fugu.operators.swellfish.relevance import Interval, Relevance
from fugu.operators.swellfish.temporal_sensitivity import Query
from fugu.operators.swellfish.zone import DAY

Value = TypeVar("Value")

_DAYS_AHEAD = 7
"""So far one looks for the next occurrence of a policy."""
_DAYS_KEPT = 28
"""So much further occurrences are made, to be kept."""


@dataclass(frozen=True, slots=True)
class Stretch(Generic[Value]):
    """Hold a value from tick `first` to tick `last`."""

    first: int
    last: int
    value: Value


class Remembered(Generic[Value]):
    """Remember the last stretch that each of some functions of ticks gave.

    What is open changes only where an occurrence begins or ends, so what was found for one tick is
    found for all of its stretch. A function is asked again only outside of it; whoever asks cannot
    tell, whatever ticks are asked for, and in whatever order.

    >>> asked = []
    >>> def decade(tick: int) -> Stretch[int]:
    ...     asked.append(tick)
    ...     return Stretch(tick, tick // 10 * 10 + 9, tick // 10)
    >>> remembered = Remembered([decade])
    >>> [remembered.at(tick)[0].value for tick in (3, 5, 9, 10, 5)], asked
    ([0, 0, 0, 1, 0], [3, 10, 5])
    """

    def __init__(self, functions: Sequence[Callable[[int], Stretch[Value]]]) -> None:
        self._functions = functions
        self._stretches: list[Stretch[Value]] | None = None

    def at(self, tick: int) -> list[Stretch[Value]]:
        """Return a stretch with this tick of each function."""
        if self._stretches is None:
            self._stretches = [function(tick) for function in self._functions]
        else:
            self._stretches = [
                stretch if stretch.first <= tick <= stretch.last else function(tick)
                for stretch, function in zip(self._stretches, self._functions, strict=True)
            ]
        return self._stretches


class PolicySweep:
    """Find which occurrences of a policy are open; those of some weeks are kept in order."""

    def __init__(self, admitted: Admitted, tick_milliseconds: int) -> None:
        self._admitted = admitted
        self._tick_milliseconds = tick_milliseconds
        self._day = max(1, DAY * 1000 // tick_milliseconds)
        self._kept: Span = (0, -1)
        self._occurrences: list[Occurrence] = []
        self._starts: list[int] = []
        self._ends: list[int] = []

    def __call__(self, tick: int) -> Stretch[tuple[Occurrence, ...]]:
        """Return a stretch up to where the next one begins or ends, or of some days."""
        found = []
        first, last = tick - self._day, tick + _DAYS_AHEAD * self._day
        for occurrence in self.overlapping(first, last):
            if occurrence.start > tick:
                last = min(last, occurrence.start - 1)
                break
            if occurrence.end < tick:
                first = max(first, occurrence.end + 1)
            else:
                found.append(occurrence)
                first, last = max(first, occurrence.start), min(last, occurrence.end)
        return Stretch(first, last, tuple(found))

    def overlapping(self, start: int, end: int) -> list[Occurrence]:
        """Return all that share a tick with [start, end], in order of their starts and ends."""
        if start < self._kept[0] or end > self._kept[1]:
            self._kept = start, end + _DAYS_KEPT * self._day
            self._occurrences = list(
                self._admitted.overlapping(*self._kept, self._tick_milliseconds)
            )
            self._starts = [occurrence.start for occurrence in self._occurrences]
            self._ends = [occurrence.end for occurrence in self._occurrences]
        return self._occurrences[bisect_left(self._ends, start) : bisect_right(self._starts, end)]


class CollectionSweep:
    """Find what the policies of one collection ask of a tick."""

    def __init__(
        self, admitted: tuple[Admitted, ...], query: Query, tick_milliseconds: int
    ) -> None:
        self.admitted = admitted
        self._query = query
        self._policies = [PolicySweep(one, tick_milliseconds) for one in admitted]
        self._remembered = Remembered(self._policies)
        self._open: dict[Span, Interval] = {}

    def __call__(self, tick: int) -> Stretch[Relevance]:
        """Return the ticks around with the same open occurrences, which may change as much."""
        first, last, spans = SINCE_EVER, FOR_EVER, set()
        changes, activities = [], []
        stretches = self._remembered.at(tick)
        for admitted, stretch in zip(self.admitted, stretches, strict=True):
            first, last = max(first, stretch.first), min(last, stretch.last)
            for occurrence in stretch.value:
                changes.append(occurrence.change_at(tick))
                activities.append(admitted.policy.activities)
                spans.add((occurrence.start, occurrence.end))
                alike = _alike(occurrence, tick)
                first, last = max(first, alike[0]), min(last, alike[1])
        known = self._open
        self._open = {span: known.get(span) or self._interval(*span) for span in sorted(spans)}
        sensitivity = self._query.sensitivity(changes, activities)
        return Stretch(first, last, Relevance(sensitivity, tuple(self._open.values())))

    def _interval(self, start: int, end: int) -> Interval:
        overlapping = chain.from_iterable(
            policy.overlapping(start, end) for policy in self._policies
        )
        return Interval(start, end, affected_ticks(start, end, overlapping))


class Sweep:
    """Find the largest of what all collections ask of a tick.

    Each policy is remembered by itself, then each collection, then all of them, so that a tick
    costs next to nothing where nothing begins or ends, and otherwise little more than what does.
    Source: Swellfish specification, sections 3 and 4.
    """

    def __init__(self, collections: Mapping[str, CollectionSweep]) -> None:
        self.collections = collections
        self._remembered = Remembered(list(collections.values()))
        self._largest = Remembered([self._of_all])

    def at(self, tick: int) -> Relevance:
        """Return what is asked of a tick."""
        return self._largest.at(tick)[0].value

    def of_each(self, tick: int) -> dict[str, Relevance]:
        """Return what each collection asks of a tick, by itself."""
        stretches = self._remembered.at(tick)
        return {name: one.value for name, one in zip(self.collections, stretches, strict=True)}

    def _of_all(self, tick: int) -> Stretch[Relevance]:
        """Return the ticks around at which every collection gives the same answer."""
        stretches = self._remembered.at(tick)
        largest: dict[Span, Interval] = {}
        for stretch in stretches:
            for interval in stretch.value.intervals:
                span = interval.start, interval.end
                if span not in largest or largest[span].affected < interval.affected:
                    largest[span] = interval
        return Stretch(
            max([stretch.first for stretch in stretches], default=SINCE_EVER),
            min([stretch.last for stretch in stretches], default=FOR_EVER),
            Relevance(
                max([stretch.value.sensitivity for stretch in stretches], default=0),
                tuple(largest[span] for span in sorted(largest)),
            ),
        )


def _alike(occurrence: Occurrence, tick: int) -> Span:
    """Return the ticks around that it may change as much as this one."""
    if min(occurrence.thresholds) == max(occurrence.thresholds):
        return occurrence.start, occurrence.end
    first = occurrence.start + occurrence.length - 1
    last = occurrence.end - occurrence.length + 1
    return (first, last) if first <= tick <= last else (tick, tick)
