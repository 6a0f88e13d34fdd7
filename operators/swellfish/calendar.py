"""Hold the times at which a policy holds, in a time zone, as data."""

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from functools import cached_property
from itertools import accumulate, count, pairwise
from operator import itemgetter
from types import UnionType
from typing import Any, Self, get_args, get_origin, get_type_hints

import numpy as np

from fugu.operators.mechanism import Integers

_LIKE = {date: "a date like 2024-05-01", datetime: "a local time like 2024-05-01T06:00:00"}
_KNOWN: dict[type[Any], dict[str, Any]] = {}


class PlainData:
    """Write a dataclass as plain JSON data, and read it strictly.

    Fields are integers, texts, truth values, dates, local times, tuples of them, or dataclasses of
    this kind; of two kinds of dataclasses, the one is read whose fields the data have.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Wash(PlainData):
    ...     id: str
    ...     hours: tuple[int, ...]
    >>> Wash.from_data(Wash("shower", (7, 8)).to_data())
    Wash(id='shower', hours=(7, 8))
    >>> Wash.from_data({"id": "shower", "hour": 2})
    Traceback (most recent call last):
    ...
    ValueError: wash shower: hour: is not known here; write id, hours
    """

    def to_data(self) -> dict[str, Any]:
        """Write it as plain JSON data."""
        return {name: _plain(getattr(self, name)) for name in _hints(type(self))}

    def to_bytes(self) -> bytes:
        """Write it as JSON."""
        return plain_json(self.to_data())

    @classmethod
    def from_data(cls, data: object) -> Self:
        """Read plain data; `ValueError` names the field, and whose it is if the data have an id."""
        if isinstance(data, cls):
            return data
        with _named(cls.__name__.lower(), data):
            hints = _hints(cls)
            given = _members(data, *hints)
            return cls(**{name: _read(name, hint, given[name]) for name, hint in hints.items()})


def plain_json(data: object) -> bytes:
    """Write data as JSON: the same bytes for the same data."""
    return json.dumps(data, sort_keys=True, separators=(",", ":")).encode()


def _hints(kind: type[Any]) -> dict[str, Any]:
    """Return the types of the fields of a dataclass, which takes long to find out."""
    if kind not in _KNOWN:
        hints = get_type_hints(kind)
        _KNOWN[kind] = {field.name: hints[field.name] for field in fields(kind) if field.init}
    return _KNOWN[kind]


def _plain(value: Any) -> object:
    if isinstance(value, PlainData):
        return value.to_data()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def _read(name: str, hint: Any, value: object) -> object:
    if isinstance(hint, UnionType):
        return _read(name, _one_of(get_args(hint), value), value)
    if get_origin(hint) is tuple:
        return _read_tuple(name, get_args(hint), value)
    if isinstance(hint, type) and issubclass(hint, PlainData):
        return hint.from_data(value)
    if hint is type(None):
        return None
    if hint is bool:
        if not isinstance(value, bool):
            raise ValueError(f"{name}: must be true or false")
        return value
    if hint is int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"{name}: must be an integer")
        return value
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name}: must be {_LIKE.get(hint, 'a text, and not empty')}")
    try:
        return value if hint is str else hint.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{name}: must be {_LIKE[hint]}") from None


def _read_tuple(name: str, hints: tuple[Any, ...], value: object) -> tuple[object, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{name}: must be a list")
    if hints[-1] is ...:
        return tuple(_read(name, hints[0], item) for item in value)
    if len(value) != len(hints):
        raise ValueError(f"{name}: must be lists of {len(hints)} items")
    return tuple(_read(name, hint, item) for hint, item in zip(hints, value, strict=True))


def _one_of(hints: tuple[Any, ...], value: object) -> Any:
    """Return None where that is the value, else the first kind whose fields it has, or the last."""
    if value is None and type(None) in hints:
        return type(None)
    kinds = [hint for hint in hints if hint is not type(None)]
    known = value.keys() if isinstance(value, Mapping) else set()
    fitting = [kind for kind in kinds[:-1] if known & (_hints(kind).keys() - _hints(kinds[-1]))]
    return (fitting or kinds[-1:])[0]


@contextmanager
def _named(what: str, data: object) -> Iterator[None]:
    """Let errors about the data say whose they are, if they have an id."""
    name = data.get("id") if isinstance(data, Mapping) else None
    try:
        yield
    except ValueError as error:
        if not isinstance(name, str):
            raise
        raise ValueError(f"{what} {name}: {error}") from None


def _members(data: object, *names: str) -> Mapping[str, object]:
    """Return the data if it is an object that has just these members; else raise `ValueError`."""
    if not isinstance(data, Mapping):
        raise ValueError(f"must be an object with {', '.join(names)}")
    for unknown in sorted(data.keys() - set(names)):
        raise ValueError(f"{unknown}: is not known here; write {', '.join(names)}")
    for missing in names:
        if missing not in data:
            raise ValueError(f"{missing}: is missing")
    return data


DAY = 86_400


@dataclass(frozen=True)
class Zone(PlainData):
    """Tell what clocks on the walls of a time zone show, and when.

    `transitions`: from which second on (UTC, since 1970) clocks are how many seconds ahead of UTC.
    The first holds since ever, whatever its second is, and the last for ever. Where clocks are put
    back, a local time happens twice; where they are put forward, it never does. A span of time that
    begins or ends at such a time is made longer, never shorter: it begins at the `earliest` instant
    that can be meant, and ends at the `latest`. Raises `ValueError` naming the field.

    >>> zone = Zone("two shifts", ((0, 0), (36_000, 3600), (72_000, 0)))
    >>> [zone.earliest(second) for second in (18_000, 37_800, 73_800)]  # once, never, twice shown
    [18000, 34200, 70200]
    >>> [zone.latest(second) for second in (18_000, 37_800, 73_800)]
    [18000, 37800, 73800]

    Source: Swellfish specification, section 2 (expansion).
    """

    name: str
    transitions: tuple[tuple[int, int], ...]
    least: int = field(init=False, repr=False, compare=False)
    """The smallest offset of all."""
    most: int = field(init=False, repr=False, compare=False)
    """The largest one."""
    _left: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _entered: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("name: must not be empty")
        if not self.transitions:
            raise ValueError("transitions: must have at least one offset from UTC")
        if not all(one < next_one for (one, _), (next_one, _) in pairwise(self.transitions)):
            raise ValueError("transitions: must be in order of time, each second once")
        steps = [abs(after - before) for (_, before), (_, after) in pairwise(self.transitions)]
        if max(steps, default=0) > DAY:
            raise ValueError("transitions: must not change clocks by more than a day at once")
        object.__setattr__(self, "least", min(offset for _, offset in self.transitions))
        object.__setattr__(self, "most", max(offset for _, offset in self.transitions))
        left = [second + before for (_, before), (second, _) in pairwise(self.transitions)]
        entered = [second + offset for second, offset in self.transitions[1:]]
        object.__setattr__(self, "_left", tuple(accumulate(left, max)))
        object.__setattr__(self, "_entered", tuple(accumulate(reversed(entered), min))[::-1])

    def to_data(self) -> dict[str, Any]:
        """Write it as plain JSON data, once: a zone has many transitions, and many policies."""
        return self._data

    @cached_property
    def _data(self) -> dict[str, Any]:
        return super().to_data()

    def earliest(self, local: int) -> int:
        """Return the UTC second of a local one, by the first offset left after showing it."""
        return local - self.transitions[bisect_right(self._left, local)][1]

    def latest(self, local: int) -> int:
        """Return the UTC second of a local one, by the last offset entered before showing it."""
        return local - self.transitions[bisect_right(self._entered, local)][1]

    def earliest_of(self, locals_: Integers) -> Integers:
        """Return `earliest` of all of these."""
        return locals_ - self._offsets[np.searchsorted(self._left, locals_, "right")]

    def latest_of(self, locals_: Integers) -> Integers:
        """Return `latest` of all of these."""
        return locals_ - self._offsets[np.searchsorted(self._entered, locals_, "right")]

    @cached_property
    def _offsets(self) -> Integers:
        return np.array([offset for _, offset in self.transitions], dtype=np.int64)

    def differs_from(self, other: "Zone") -> int | None:
        """Return the first second (UTC) at which clocks of the two show different times, if any.

        >>> winter = Zone("winter", ((0, 3600),))
        >>> winter.differs_from(Zone("summer too", ((0, 3600), (5_000, 7200))))
        5000
        """
        seconds = sorted({second for zone in (self, other) for second, _ in zone.transitions})
        before = seconds[0] - 1
        return next(
            (one for one in (before, *seconds) if self._ahead(one) != other._ahead(one)), None
        )

    def _ahead(self, second: int) -> int:
        """Return by how many seconds clocks are ahead of UTC at a second."""
        place = bisect_right(self.transitions, second, key=itemgetter(0)) - 1
        return self.transitions[max(0, place)][1]


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
