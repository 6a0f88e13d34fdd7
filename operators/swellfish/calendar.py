"""The times at which a policy holds: a daily span on certain days, or one span once."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import count

import numpy as np

from fugu.operators.mechanism import Integers
from fugu.operators.swellfish.plain_data import PlainData
from fugu.operators.swellfish.zone import DAY, Zone

_EPOCH = datetime(1970, 1, 1)
_FIRST_DATE = _EPOCH.date()
_WEEKDAY_OF_EPOCH = _EPOCH.weekday()


@dataclass(frozen=True)
class Calendar(PlainData):
    """Repeat a span on `days` (0 is Monday) from `start` to `end`, in seconds of the local day.

    An `end` that is not after `start` means the next day. Days are those of the start: none before
    `first_day`, none after `last_day`, and not `except_days`. Spans become intervals [s, e] of
    ticks, both ends included; tick 0 begins at 1970-01-01 00:00 UTC, and a tick that a span touches
    belongs to it. Raises `ValueError` naming the field.

    >>> mornings = Calendar(Zone("UTC", ((0, 0),)), days=(0, 4), start=6 * 3600, end=9 * 3600)
    >>> weeks = mornings.intervals(0, tick_milliseconds=3_600_000)
    >>> next(weeks), next(weeks), next(weeks)
    ((30, 32), (102, 104), (198, 200))

    Source: Swellfish specification, section 2 (expansion).
    """

    zone: Zone
    days: tuple[int, ...]
    start: int
    end: int
    first_day: date | None = None
    last_day: date | None = None
    except_days: tuple[date, ...] = ()
    _skipped: frozenset[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.days or not set(self.days) <= set(range(7)):
            raise ValueError("days: must be at least one of 0 (Monday) to 6 (Sunday)")
        if not 0 <= self.start < DAY:
            raise ValueError(f"start: must be 0 to {DAY - 1} seconds")
        if not 0 <= self.end <= DAY:
            raise ValueError(f"end: must be 0 to {DAY} seconds")
        object.__setattr__(self, "_skipped", frozenset(map(_days, self.except_days)))

    @property
    def seconds(self) -> int:
        """Return how long it lasts by local clocks."""
        return self.end - self.start if self.end > self.start else self.end + DAY - self.start

    def longest(self, tick_milliseconds: int) -> int:
        """Return how many ticks an interval has at most, clocks put back included."""
        ahead = [offset for _, offset in self.zone.transitions]
        most = self.seconds + max(ahead) - min(ahead)
        return most * 1000 // tick_milliseconds + 2

    def exceptional(self, tick_milliseconds: int) -> tuple[int, int] | None:
        """Return the first and the last tick of the time in which days are left out, if any are."""
        first, last = self.first_day or date.min, self.last_day or date.max
        days = [_days(day) for day in self.except_days if first <= day <= last]
        if not days:
            return None
        begin, end = (min(days) - 1) * DAY, (max(days) + 3) * DAY
        return begin * 1000 // tick_milliseconds, end * 1000 // tick_milliseconds

    def intervals(self, tick: int, tick_milliseconds: int) -> Iterator[tuple[int, int]]:
        """Yield all that end at `tick` or later, in order of their days, starts and ends."""
        zone, seconds = self.zone, self.seconds
        for day in self._days_from(tick * tick_milliseconds // 1000 + zone.least):
            start = day * DAY + self.start
            first, last = _ticks(zone, start, start + seconds, tick_milliseconds)
            if last >= tick:
                yield first, last

    def spans(self, first: int, last: int, tick_milliseconds: int) -> Integers:
        """Return rows of those of `intervals` that share a tick with [first, last]."""
        zone, begin, over = self.zone, first * tick_milliseconds, (last + 1) * tick_milliseconds
        since = (begin // 1000 + zone.least - self.start - self.seconds) // DAY
        until = (-(-over // 1000) + zone.most - self.start) // DAY
        if self.first_day is not None:
            since = max(since, _days(self.first_day))
        if self.last_day is not None:
            until = min(until, _days(self.last_day))
        days = np.arange(since, until + 1)
        days = days[np.isin((days + _WEEKDAY_OF_EPOCH) % 7, self.days)]
        if self._skipped:
            days = days[~np.isin(days, list(self._skipped))]
        start = days * DAY + self.start
        starts = zone.earliest_of(start) * 1000 // tick_milliseconds
        ends = -(-zone.latest_of(start + self.seconds) * 1000 // tick_milliseconds) - 1
        spans = np.stack([starts, ends], axis=1)
        return spans[(ends >= first) & (starts <= last)]

    def _days_from(self, local: int) -> Iterator[int]:
        """Yield days whose span ends at this local second or later."""
        first = (local - self.start - self.seconds) // DAY
        if self.first_day is not None:
            first = max(first, _days(self.first_day))
        last = None if self.last_day is None else _days(self.last_day)
        for day in count(first):
            if last is not None and day > last:
                return
            if (day + _WEEKDAY_OF_EPOCH) % 7 in self.days and day not in self._skipped:
                yield day


@dataclass(frozen=True)
class Once(PlainData):
    """Span the time from one local time to another one, however long that is.

    Raises `ValueError` naming the field.

    >>> holidays = Once(Zone("UTC", ((0, 0),)), datetime(1970, 1, 2), datetime(1970, 1, 9, 0, 30))
    >>> list(holidays.intervals(0, tick_milliseconds=3_600_000))
    [(24, 192)]
    """

    zone: Zone
    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        for name, time in (("start", self.start), ("end", self.end)):
            if time.tzinfo is not None or time.microsecond:
                raise ValueError(f"{name}: must be a local time in whole seconds, without offset")
        if self.end <= self.start:
            raise ValueError("end: must be after start")

    def longest(self, tick_milliseconds: int) -> int:
        """Return how many ticks it has."""
        first, last = self._span(tick_milliseconds)
        return last - first + 1

    def exceptional(self, tick_milliseconds: int) -> tuple[int, int] | None:
        """Return nothing: what is once leaves no day out."""
        return None

    def _span(self, tick_milliseconds: int) -> tuple[int, int]:
        return _ticks(self.zone, _seconds(self.start), _seconds(self.end), tick_milliseconds)

    def intervals(self, tick: int, tick_milliseconds: int) -> Iterator[tuple[int, int]]:
        """Yield the one interval, if it ends at `tick` or later."""
        first, last = self._span(tick_milliseconds)
        if last >= tick:
            yield first, last

    def spans(self, first: int, last: int, tick_milliseconds: int) -> Integers:
        """Return a row of the one interval, if it shares a tick with [first, last]."""
        start, end = self._span(tick_milliseconds)
        rows = [(start, end)] if start <= last and end >= first else []
        return np.array(rows, dtype=np.int64).reshape(-1, 2)


When = Calendar | Once


def _ticks(zone: Zone, start: int, end: int, tick_milliseconds: int) -> tuple[int, int]:
    """Return the first and the last tick that the span touches.

    In time `zone.earliest(start) < zone.latest(end)`, since clocks that show `end` last do so after
    they showed `start` first; so the last tick is never before the first one.
    """
    first = zone.earliest(start) * 1000 // tick_milliseconds
    last = -(-zone.latest(end) * 1000 // tick_milliseconds) - 1
    return first, last


def _days(day: date) -> int:
    return (day - _FIRST_DATE).days


def _seconds(local: datetime) -> int:
    passed = local - _EPOCH
    return passed.days * DAY + passed.seconds
