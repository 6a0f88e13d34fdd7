"""A sweep over time that remembers where it is: an answer holds for a stretch of ticks.

What is open changes only where an occurrence begins or ends, so what was found for one tick is
found for all of its stretch. `Remembered` asks again only outside of it; whoever asks cannot tell,
whatever ticks are asked for, and in whatever order. Each policy is remembered by itself, then each
collection, then all of them, so that a tick costs next to nothing where nothing begins or ends, and
otherwise little more than what does.

>>> asked = []
>>> def decade(tick: int) -> Stretch[int]:
...     asked.append(tick)
...     return Stretch(tick, tick // 10 * 10 + 9, tick // 10)
>>> remembered = Remembered(decade)
>>> [remembered.at(tick).value for tick in (3, 5, 9, 10, 5)], asked
([0, 0, 0, 1, 0], [3, 10, 5])

Source: Swellfish specification, sections 3 and 4.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Generic, TypeVar

from operators.swellfish.admission import FOR_EVER, SINCE_EVER, Admitted, Span
from operators.swellfish.affected_ticks import affected_ticks
from operators.swellfish.occurrence import Occurrence
from operators.swellfish.relevance import Interval, Relevance
from operators.swellfish.temporal_sensitivity import Query
from operators.swellfish.zone import DAY

Value = TypeVar("Value")


@dataclass(frozen=True)
class Stretch(Generic[Value]):
    """A value that holds from tick `first` to tick `last`."""

    first: int
    last: int
    value: Value


class Remembered(Generic[Value]):
    """A function of ticks, and the last stretch that it gave."""

    def __init__(self, ask: Callable[[int], Stretch[Value]]) -> None:
        self._ask = ask
        self._stretch: Stretch[Value] | None = None

    def at(self, tick: int) -> Stretch[Value]:
        """A stretch with this tick."""
        stretch = self._stretch
        if stretch is None or not stretch.first <= tick <= stretch.last:
            self._stretch = stretch = self._ask(tick)
        return stretch


class PolicySweep:
    """Which occurrences of a policy are open."""

    def __init__(self, admitted: Admitted, tick_milliseconds: int) -> None:
        self._admitted = admitted
        self._tick_milliseconds = tick_milliseconds
        self._day = DAY * 1000 // tick_milliseconds

    def __call__(self, tick: int) -> Stretch[tuple[Occurrence, ...]]:
        """From where the last one began or ended, within a day, to where the next one does."""
        found, first, last = [], tick - self._day, FOR_EVER
        for occurrence in self._admitted.occurrences(first, self._tick_milliseconds):
            if occurrence.start > tick:
                last = min(last, occurrence.start - 1)
                break
            if occurrence.end < tick:
                first = max(first, occurrence.end + 1)
            else:
                found.append(occurrence)
                first, last = max(first, occurrence.start), min(last, occurrence.end)
        return Stretch(first, last, tuple(found))


class CollectionSweep:
    """What the policies of one collection ask of a tick."""

    def __init__(
        self, admitted: tuple[Admitted, ...], query: Query, tick_milliseconds: int
    ) -> None:
        self._admitted = admitted
        self._query = query
        self._tick_milliseconds = tick_milliseconds
        self._policies = [Remembered(PolicySweep(one, tick_milliseconds)) for one in admitted]
        self._open: dict[Span, Interval] = {}

    def __call__(self, tick: int) -> Stretch[Relevance]:
        """All ticks around with the same open occurrences, which may change each as much."""
        first, last, spans = SINCE_EVER, FOR_EVER, set()
        changes, activities = [], []
        for admitted, policy in zip(self._admitted, self._policies, strict=True):
            stretch = policy.at(tick)
            first, last = max(first, stretch.first), min(last, stretch.last)
            for occurrence in stretch.value:
                changes.append(occurrence.change_at(tick))
                activities.append(admitted.policy.activities)
                spans.add((occurrence.start, occurrence.end))
                alike = _alike(occurrence, tick)
                first, last = max(first, alike[0]), min(last, alike[1])
        known = self._open
        self._open = {span: known.get(span) or self._interval(*span) for span in spans}
        sensitivity = self._query.sensitivity(changes, activities)
        return Stretch(first, last, Relevance(sensitivity, tuple(self._open.values())))

    def _interval(self, start: int, end: int) -> Interval:
        """With delta(J)."""
        overlapping = chain.from_iterable(
            one.overlapping(start, end, self._tick_milliseconds) for one in self._admitted
        )
        return Interval(start, end, affected_ticks(start, end, overlapping))


class Sweep:
    """The largest of what all collections ask."""

    def __init__(
        self, collections: Iterable[tuple[Admitted, ...]], query: Query, tick_milliseconds: int
    ) -> None:
        self._collections = [
            Remembered(CollectionSweep(admitted, query, tick_milliseconds))
            for admitted in collections
        ]

    def __call__(self, tick: int) -> Stretch[Relevance]:
        """All ticks around at which every collection gives the same answer."""
        sensitivity, first, last = 0, SINCE_EVER, FOR_EVER
        intervals: dict[Span, Interval] = {}
        for collection in self._collections:
            stretch = collection.at(tick)
            first, last = max(first, stretch.first), min(last, stretch.last)
            sensitivity = max(sensitivity, stretch.value.sensitivity)
            for interval in stretch.value.intervals:
                span = interval.start, interval.end
                if span not in intervals or intervals[span].affected < interval.affected:
                    intervals[span] = interval
        in_order = tuple(intervals[span] for span in sorted(intervals))
        return Stretch(first, last, Relevance(sensitivity, in_order))


def _alike(occurrence: Occurrence, tick: int) -> Span:
    """Ticks around that it may change as much as this one."""
    if min(occurrence.thresholds) == max(occurrence.thresholds):
        return occurrence.start, occurrence.end
    first = occurrence.start + occurrence.length - 1
    last = occurrence.end - occurrence.length + 1
    return (first, last) if first <= tick <= last else (tick, tick)
