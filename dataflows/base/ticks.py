"""Read durations, follow stream time, and cut event time into ticks.

>>> between("50ms", "60m")("1.5s")
datetime.timedelta(seconds=1, microseconds=500000)
>>> between("1s", "2d")("PT1H30M")
datetime.timedelta(seconds=5400)
"""

import re
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

from pydantic import WithJsonSchema

from fugu.dataflows.base.batches import Reason
from fugu.operators.mechanism import Integers

_DURATION = re.compile(r"^(\d+(?:\.\d+)?)(ms|s|m|h|d)$")
_ISO = re.compile(
    r"^P(?=.)(?:(?P<d>\d+)D)?"
    r"(?:T(?=\d)(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?$"
)
DURATION_PATTERN = f"{_DURATION.pattern}|^P.+$"
AS_JSON = WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN})
"""Describe a duration in a JSON Schema."""
MILLISECOND = timedelta(milliseconds=1)
_UNITS = ((86_400_000, "day"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms"))
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def between(shortest: str, longest: str) -> Callable[[object], timedelta]:
    """Return a function that reads a duration; one that was read before is left as it is."""
    least, most = _seconds(shortest), _seconds(longest)

    def read(value: object) -> timedelta:
        if isinstance(value, timedelta):
            return value
        seconds = _seconds(value)
        if not least <= seconds <= most:
            raise ValueError(f"must be at least {shortest} and at most {longest}")
        return timedelta(seconds=seconds)

    return read


def whole_milliseconds(shortest: str, longest: str) -> Callable[[object], timedelta]:
    """Return a function that reads a duration without fractions of a millisecond."""
    inside = between(shortest, longest)

    def read(value: object) -> timedelta:
        duration = inside(value)
        if duration % MILLISECOND:
            raise ValueError("must be a whole number of milliseconds")
        return duration

    return read


def duration(milliseconds: int) -> str:
    """Say a duration exactly, in at most as many units as it takes.

    >>> duration(900_000), duration(864_000_000), duration(90_061_001)
    ('15 min', '10 days', '1 day 1 h 1 min 1 s 1 ms')
    """
    parts = []
    for unit, name in _UNITS:
        number, milliseconds = divmod(milliseconds, unit)
        if number:
            parts.append(f"{number} {name}{'s' * (name == 'day' and number > 1)}")
    return " ".join(parts)


def _seconds(value: object) -> float:
    text = value if isinstance(value, str) else ""
    if match := _DURATION.match(text):
        return float(match[1]) * _SECONDS[match[2]]
    if match := _ISO.match(text):
        parts = match.groupdict(default="0")
        return sum(float(number) * _SECONDS[unit] for unit, number in parts.items())
    raise ValueError("write a duration with its unit, such as 500ms, 1s or 1m")


DISTINCT_KEYS = 3
"""The default of pipeline files."""
IN_A_ROW = 20
"""Records beyond what a tick may be ahead that show that a partition was silent."""
MAX_AHEAD = timedelta(days=1)
"""Say how far a time may be ahead of Kafka's, unless a pipeline file says otherwise."""

_LIMITED = (
    "ticks.stream_time.max_ahead limits it where Kafka's timestamp comes of another clock than the "
    "time in the record"
)


@dataclass(frozen=True)
class StreamTime:
    """Say whose records move stream time: those of several people together, or heartbeats.

    No person may move stream time alone, because it decides whose records are late and which ticks
    close. So it is the `distinct_keys`-th latest of the latest times of all keys, or the latest
    time of declared heartbeats, keys that belong to no user. Every record counts whose key and time
    can be read, also one whose value is refused; but for one whose time is further ahead of what
    Kafka says of the same record than `max_ahead`. That is a function of the record alone, so a
    wrong clock decides about nobody else.

    A record counts if the time in its field is at most `max_ahead` milliseconds after the timestamp
    that it has in Kafka; None stands for a day.

    >>> StreamTime(3).in_words
    'the latest time that records of 3 people have reached'
    """

    distinct_keys: int = DISTINCT_KEYS
    heartbeats: frozenset[bytes] = frozenset()
    max_ahead: int | None = None

    @property
    def most_ahead(self) -> int:
        """Return how many milliseconds a time may be after that of the same record in Kafka."""
        return MAX_AHEAD // MILLISECOND if self.max_ahead is None else self.max_ahead

    @property
    def has_one_mover(self) -> bool:
        """Return whether a single clock moves stream time."""
        return self.distinct_keys == 1 or bool(self.heartbeats)

    @property
    def in_words(self) -> str:
        """Return what it is, for people."""
        if self.heartbeats:
            return "the latest time of a heartbeat (ticks.stream_time.heartbeats)"
        if self.distinct_keys == 1:
            return (
                "the latest time of any record: ONE PERSON MOVES IT, and so decides whose records "
                "are late; write ticks.stream_time: {distinct_keys: 3} where there are more"
            )
        return f"the latest time that records of {self.distinct_keys} people have reached"

    @property
    def remark(self) -> str | None:
        """Return who may make everybody's records late, where it is not several people together."""
        late = "makes the records of everybody late, for as long as it is ahead"
        if self.heartbeats:
            return (
                "ticks.stream_time.heartbeats: whoever may write to the source topic can send one, "
                f"and a heartbeat with a wrong clock {late}. Let nobody write there who may choose "
                f"keys and is not trusted with that (topic ACLs). {_LIMITED}"
            )
        if self.distinct_keys == 1:
            return (
                "ticks.stream_time.distinct_keys: 1 lets every record move stream time for all: "
                f"one with a wrong clock {late}. Write 3 or more, or declare heartbeats. {_LIMITED}"
            )
        return None

    @property
    def after_a_silence(self) -> str:
        """Return how it goes on when everything is too far ahead, for people."""
        if self.heartbeats:
            return "three heartbeats that agree move stream time there"
        most = 2 * self.distinct_keys - 1
        if most == 1:
            return f"{IN_A_ROW} such records in a row move stream time there"
        return (
            f"{IN_A_ROW} such records of {most} people, or {IN_A_ROW * most} of "
            f"{self.distinct_keys}, and of no two people in time between them, move stream time "
            "there"
        )


PEOPLE = StreamTime()
"""The default: records of several people."""

TIME = "stream time"
"""The name of stream time in the clock of a partition."""
CLOSED = "closed tick"
UNTOLD = "closed before time began"
"""The name of the tick that was closed before time began, as long as none has closed since, where
one clock moves time."""

Clock = MutableMapping[str, int]
"""The clock of a partition: stream time, the last closed tick, and whose records have come
how far; empty at first.

Without stream time, at first and after an end, it begins anew; closed ticks stay closed.
"""

Several = Literal["last", "first", "list", "error"]
NO_TICK = -(2**63)


@dataclass(frozen=True)
class Passed:
    """Hold the ticks that are closed now, and those after them that are skipped.

    Where time begins `anew`, everything that was held is of a wrong time.
    """

    closed: range
    skipped: range
    anew: bool = False


@dataclass(frozen=True)
class Ticks:
    """Place records in ticks of `width` milliseconds; tick 0 begins at 1970-01-01 00:00 UTC.

    A tick closes, in order, when stream time has come to its end plus `grace`. Ticks of a silence
    are skipped: where stream time goes on further than any record may be ahead of it, they cannot
    hold a record. No wall clock is read, so the same records always close the same ticks.

    A record more than `max_jump` ticks ahead of those that are open is refused. Where
    a tick has `several` records of a stream, one counts, or all as a list, or the first, and the
    others are refused. A stream that released nothing in `idle` ticks in a row ends its epoch; one
    that has a `life` ends it after so many ticks.

    >>> minutes = Ticks(width=60_000, grace=5_000, max_jump=100, idle=40)
    >>> minutes.of(119_999), minutes.closed(124_999), minutes.closed(125_000), minutes.open
    (1, 0, 1, 3)
    """

    width: int
    grace: int
    max_jump: int
    idle: int = 0
    several: Several = "last"
    time: StreamTime = PEOPLE
    life: int | None = None

    def of(self, timestamp: int) -> int:
        """Return the tick that a time belongs to."""
        return timestamp // self.width

    def end(self, tick: int) -> int:
        """Return the first millisecond after a tick."""
        return (tick + 1) * self.width

    def closed(self, stream_time: int) -> int:
        """Return the last tick that is closed."""
        return (stream_time - self.grace) // self.width - 1

    @property
    def in_words(self) -> str:
        """Say how long the ticks are."""
        closed = f"{duration(self.grace)} after their end" if self.grace else "at their end"
        return f"{duration(self.width)} of event time each, closed {closed}"

    @property
    def silence_in_words(self) -> str:
        """Return what is too far ahead, and what comes after a silence, for people."""
        return (
            f"more than {self.max_jump:,} ticks ({duration(self.max_jump * self.width)}) after "
            f"those that are open; after a longer silence {self.time.after_a_silence}, and the "
            "ticks in between are not published"
        )

    @property
    def reached(self) -> int:
        """Return the most ticks that are open at a time and that stream time has come to."""
        return self._grace_in_ticks + 1

    @property
    def open(self) -> int:
        """Return how many ticks have a place: records may come as early as they may come late."""
        return self.reached + self._grace_in_ticks

    @property
    def _grace_in_ticks(self) -> int:
        return -(-self.grace // self.width)

    def last(self, clock: Clock) -> int:
        """Return the last tick that a record may be in."""
        return clock[CLOSED] + self.reached + self.max_jump

    def closing(self, clock: Clock) -> int:
        """Return the stream time at which the next tick closes."""
        return (clock[CLOSED] + 2) * self.width + self.grace

    def refusals(self, clock: Clock, ticks: Integers) -> dict[int, Reason]:
        """Return index and reason of every record that is not in time, judged by its tick."""
        reasons: dict[int, Reason] = {}
        begun = TIME in clock
        if not begun:
            reasons = dict.fromkeys(range(len(ticks)), Reason.TIME_NOT_BEGUN)
        elif len(ticks) and ticks.max() > self.last(clock):
            ahead = (ticks > self.last(clock)).nonzero()[0].tolist()
            reasons = dict.fromkeys(ahead, Reason.TOO_FAR_AHEAD)
        if CLOSED in clock and len(ticks) and ticks.min() <= clock[CLOSED]:
            late = (ticks <= clock[CLOSED]).nonzero()[0].tolist()
            reasons |= dict.fromkeys(late, Reason.LATE)
        return reasons

    def passed(self, clock: Clock, time: int) -> Passed:
        """Move stream time; return the ticks that this closes, and those that it skips."""
        closed = self.closed(time)
        if TIME not in clock:
            if self.time.has_one_mover:
                clock[UNTOLD] = clock.get(CLOSED, NO_TICK)
            clock.update({TIME: time, CLOSED: max(closed, clock.get(CLOSED, closed))})
        first, last = clock[CLOSED] + 1, self.last(clock)
        clock[TIME] = max(clock[TIME], time)
        clock[CLOSED] = max(clock[CLOSED], closed)
        held = min(clock[CLOSED], last)
        if clock[CLOSED] >= first:
            clock.pop(UNTOLD, None)
        return Passed(range(first, held + 1), range(held + 1, clock[CLOSED] + 1))

    def passed_anew(self, clock: Clock, time: int) -> Passed:
        """Let time begin anew, of which no tick was told; what was closed before stays closed."""
        before = told(clock)
        for name in (TIME, CLOSED, UNTOLD):
            del clock[name]
        if before is not None:
            clock[CLOSED] = before
        return replace(self.passed(clock, time), anew=True)

    def back(self, clock: Clock) -> Clock:
        """Return where a clock stood when it had told its last tick; empty if it told none."""
        tick = told(clock)
        return {} if tick is None else {TIME: self.end(tick) + self.grace, CLOSED: tick}


def told(clock: Clock) -> int | None:
    """Return the last tick that was closed and told. One clock that has begun time told none."""
    if UNTOLD not in clock:
        return clock.get(CLOSED)
    return None if clock[UNTOLD] == NO_TICK else clock[UNTOLD]
