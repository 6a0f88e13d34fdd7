"""Ticks: intervals of event time that every stream of a partition goes through in step.

The stream time of a partition is the latest event time seen in it. A tick closes when stream time
has come to its end plus `grace`; ticks close in order and none is left out. No clock on a wall is
looked at, so the same records always close the same ticks.
"""

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Literal

from dataflows.batches import Reason

TIME = "stream time"
"""Its name in the clock of a partition."""
CLOSED = "closed tick"

Clock = MutableMapping[str, int]
"""Where a partition stands: stream time, and the last tick that is closed; empty at first.

Without stream time, after an end, it begins anew with the next record; closed ticks stay closed.
"""

Several = Literal["last", "first", "list", "error"]


@dataclass(frozen=True)
class Ticks:
    """`width` and `grace` in milliseconds; tick 0 begins at 1970-01-01 00:00 UTC.

    A record more than `max_jump` ticks ahead of stream time is refused, and does not move it. Where
    a tick has `several` records of a stream, one counts, or all as a list, or the first, and the
    others are refused. A stream that released nothing in `idle` ticks in a row, and has nothing to
    release, ends its epoch.

    >>> minutes = Ticks(width=60_000, grace=5_000, max_jump=100, idle=40)
    >>> minutes.of(119_999), minutes.closed(124_999), minutes.closed(125_000), minutes.open
    (1, 0, 1, 2)
    """

    width: int
    grace: int
    max_jump: int
    idle: int = 0
    several: Several = "last"

    def of(self, timestamp: int) -> int:
        """The tick that a time belongs to."""
        return timestamp // self.width

    def end(self, tick: int) -> int:
        """The first millisecond after a tick."""
        return (tick + 1) * self.width

    def closed(self, stream_time: int) -> int:
        """The last tick that is closed."""
        return (stream_time - self.grace) // self.width - 1

    @property
    def in_words(self) -> str:
        """How long they are, for people."""
        width, grace = self.width / 1000, self.grace / 1000
        return f"{width:g} s of event time each, closed {grace:g} s after their end"

    @property
    def open(self) -> int:
        """The most ticks that are open at a time."""
        return -(-self.grace // self.width) + 1

    def refusal(self, clock: Clock, time: int) -> Reason | None:
        """Why a record of this time comes too late, or too early."""
        tick = self.of(time)
        if CLOSED in clock and tick <= clock[CLOSED]:
            return Reason.LATE
        if TIME in clock and tick - self.of(clock[TIME]) > self.max_jump:
            return Reason.TOO_FAR_AHEAD
        return None

    def quiet(self, clock: Clock) -> tuple[int, int]:
        """From when, and until before when, a record is sure to be in time and to close no tick."""
        if not clock:
            return 0, 0
        closes = (clock[CLOSED] + 2) * self.width + self.grace
        too_far = (self.of(clock[TIME]) + self.max_jump + 1) * self.width
        return (clock[CLOSED] + 1) * self.width, min(closes, too_far)

    def passed(self, clock: Clock, time: int) -> range:
        """Move stream time, if a record of this time does move it; the ticks that this closes."""
        if TIME not in clock:
            closed = self.closed(time)
            clock.update({TIME: time, CLOSED: max(closed, clock.get(CLOSED, closed))})
        first = clock[CLOSED] + 1
        clock[TIME] = max(clock[TIME], time)
        clock[CLOSED] = max(clock[CLOSED], self.closed(clock[TIME]))
        return range(first, clock[CLOSED] + 1)
