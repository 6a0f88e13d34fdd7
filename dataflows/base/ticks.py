"""Cut event time into ticks, which all streams of a partition go through in step.

A tick closes, in order, when stream time has come to its end plus `grace`. Ticks of a silence are
skipped: where stream time goes on further than any record may be ahead of it, they cannot hold a
record. No wall clock is read, so the same records always close the same ticks.
"""

from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from typing import Literal

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.durations import duration
from fugu.dataflows.base.stream_time import PEOPLE, StreamTime
from fugu.operators.mechanism import Integers

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
