"""Find the end of a silence, when all records are too far ahead and each could be a wrong clock.

Stream time then moves to what k people (`distinct_keys`) have reached when `IN_A_ROW` such records
have come, of 2k - 1 people, and no two people were in time between them: k - 1 of them cannot
choose where. Where there are not so many, 2k - 1 times as many records of k people do. In a
partition that lives, wrong clocks get nowhere; and one person whose clock stands still holds nobody
up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.base.stream_time import IN_A_ROW
from fugu.dataflows.base.ticks import Clock
from fugu.dataflows.stages.witnesses import Times, digest, heard, reached, store, stored
from fugu.operators.mechanism import Integers

_BEYOND, _IN_TIME, _COUNT = "beyond ", "in time ", "records beyond"


@dataclass
class Silence:
    """Count people whose records are too far ahead, such records, and people who were in time."""

    people: int
    beyond: Times = field(default_factory=dict)
    in_time: set[str] = field(default_factory=set)
    records: int = 0

    @classmethod
    def of(cls, clock: Clock, people: int) -> "Silence":
        """Return what a clock holds."""
        in_time = set(stored(clock, _IN_TIME))
        return cls(people, stored(clock, _BEYOND), in_time, clock.get(_COUNT, 0))

    def hold(self, clock: Clock) -> None:
        """Write it into a clock."""
        store(clock, _BEYOND, self.beyond)
        store(clock, _IN_TIME, dict.fromkeys(self.in_time, 0))
        clock.pop(_COUNT, None)
        if self.records:
            clock[_COUNT] = self.records

    def over(
        self,
        keys: Sequence[bytes],
        times: Integers,
        beyond: NDArray[np.bool_],
        in_time: NDArray[np.bool_],
    ) -> tuple[int, int] | None:
        """Take in records, up to the one at which a silence is over; return which one that is, and
        the stream time that it shows."""
        index = 0
        while index < len(times):
            if not self.records:
                if not beyond[index:].any():
                    return None
                index += int(np.argmax(beyond[index:]))
            if beyond[index]:
                time = self._further(digest(keys[index]), int(times[index]))
                if time is not None:
                    return index, time
            elif in_time[index]:
                self._alive(digest(keys[index]))
            index += 1
        return None

    def _further(self, key: str, time: int) -> int | None:
        self.records += 1
        most = 2 * self.people - 1
        self.beyond = heard(self.beyond, {key: time}, most)
        enough = IN_A_ROW if len(self.beyond) == most else IN_A_ROW * most
        if self.records < enough or len(self.beyond) < self.people:
            return None
        time_reached = reached(self.beyond, self.people)
        self._forget()
        return time_reached

    def _alive(self, key: str) -> None:
        self.in_time.add(key)
        if len(self.in_time) >= min(2, self.people):
            self._forget()

    def _forget(self) -> None:
        self.beyond, self.in_time, self.records = {}, set(), 0
