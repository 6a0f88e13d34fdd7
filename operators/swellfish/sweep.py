"""Sweep over a range of ticks, and find what the policies of a collection ask there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from fugu.operators.swellfish.bounds import expanded
from fugu.operators.swellfish.calendar import DAY
from fugu.operators.swellfish.policy import FOR_EVER, SINCE_EVER, Admitted, Pattern, Policy, Span
from fugu.operators.swellfish.relevance import Interval, Query, Relevance

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


_DAYS_AHEAD = 7
"""So far one looks for the next occurrence."""
_DAYS_KEPT = 35
"""So far occurrences are made, to be kept."""
_MOST_PATTERNS = 1_000


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


class CollectionSweep:
    """Find what the policies of one collection ask of a tick.

    All occurrences of some weeks are kept as columns, so that a collection costs little more where
    it has many policies. `number` counts collections, which do not all look ahead at the same tick.
    """

    def __init__(
        self,
        admitted: tuple[Admitted, ...],
        query: Query,
        tick_milliseconds: int,
        number: int = 0,
    ) -> None:
        self.admitted = admitted
        self._query = query
        self._tick_milliseconds = tick_milliseconds
        self._day = max(1, DAY * 1000 // tick_milliseconds)
        self._ahead = _DAYS_KEPT * self._day + number
        self._kept = Kept(admitted, 0, -1, tick_milliseconds)
        self._open: dict[Span, Interval] = {}
        self._patterns: dict[Span, Pattern] = {}

    def __call__(self, tick: int) -> Stretch[Relevance]:
        """Return the ticks around with the same open occurrences, which may change as much."""
        if not self._kept.holds(tick - self._day, tick + _DAYS_AHEAD * self._day):
            first, last = tick - self._day, tick + self._ahead
            self._kept = Kept(self.admitted, first, last, self._tick_milliseconds)
        stretch = self._kept.open_at(tick)
        first, last, spans = stretch.first, stretch.last, list[Span]()
        changes, activities = [], []
        for place, start, end in stretch.value:
            policy = self.admitted[place].policy
            pattern = self._pattern(place, policy, end - start + 1)
            changes.append(pattern.change(tick - start, end - tick))
            activities.append(policy.activities)
            spans.append((start, end))
            alike = pattern.alike(tick - start, end - tick)
            first, last = max(first, tick - alike[0]), min(last, tick + alike[1])
        self._open = self._intervals(spans)
        sensitivity = self._query.sensitivity(changes, activities)
        return Stretch(first, last, Relevance(sensitivity, tuple(self._open.values())))

    def _intervals(self, spans: list[Span]) -> dict[Span, Interval]:
        """Return these intervals; the occurrences are looked at of those that were not open."""
        known, kept = self._open, self._kept
        new = [span for span in spans if span not in known]
        first, last = min(new, default=(0, 0))[0], max((end for _, end in new), default=0)
        if new and not kept.holds(first, last):
            kept = Kept(self.admitted, first, last, self._tick_milliseconds)
        opened = {span: Interval(*span, kept.affected_in(*span)) for span in new}
        return {span: known.get(span) or opened[span] for span in spans}

    def _pattern(self, place: int, policy: Policy, ticks: int) -> Pattern:
        """Return the pattern of a policy in an interval of so many ticks."""
        if (place, ticks) not in self._patterns:
            if len(self._patterns) > _MOST_PATTERNS:
                self._patterns.clear()
            self._patterns[place, ticks] = Pattern.of(policy, ticks)
        return self._patterns[place, ticks]


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
