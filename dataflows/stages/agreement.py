"""Believe a clock that moves time alone only where three records in a row agree.

Where a single record moves stream time, or a heartbeat, the first one that is wrong would begin it
anywhere. So as long as no tick has closed since time began, three late ones in a row begin it anew;
and a heartbeat that is too far ahead waits for two more. What was told of a tick is never taken
back. A clock that is wrong again and again is believed all the same: to tell it from a right one
takes another clock (`max_ahead`), or more people.
"""

from dataclasses import dataclass, field

from fugu.dataflows.base.ticks import Clock, Ticks

AGREEING = 3


@dataclass
class Agreement:
    """Keep the times of the newest records in a row, `about` which a clock holds them."""

    about: str
    times: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, clock: Clock, about: str) -> "Agreement":
        """Return what a clock holds."""
        names = (f"{about} {place}" for place in range(AGREEING))
        return cls(about, [clock[name] for name in names if name in clock])

    def hold(self, clock: Clock) -> None:
        """Write it into a clock."""
        for place in range(AGREEING):
            clock.pop(f"{self.about} {place}", None)
        clock.update({f"{self.about} {place}": time for place, time in enumerate(self.times)})

    def agrees(self, time: int, ticks: Ticks) -> bool:
        """Take in one more; return whether three in a row are within `max_jump` ticks."""
        self.times = [*self.times, time][-AGREEING:]
        if len(self.times) < AGREEING:
            return False
        if ticks.of(max(self.times)) - ticks.of(min(self.times)) > ticks.max_jump:
            return False
        self.forget()
        return True

    def forget(self) -> None:
        """Begin to count anew."""
        self.times = []
