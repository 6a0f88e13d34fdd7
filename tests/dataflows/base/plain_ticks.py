"""Close ticks record by record, as plainly as can be, for comparison."""

from dataclasses import dataclass, field

from fugu.dataflows.base.ticks import CLOSED, IN_A_ROW, TIME, UNTOLD, Clock, Ticks

Seen = list[tuple[int, bytes]]
"""Times and keys of records."""
Course = list[tuple[range, range, str]]
"""For each record: ticks that close before it, those that are skipped, and why it is refused."""


@dataclass
class Plain:
    """Look at one record after the other, with all keys that there ever were."""

    ticks: Ticks
    latest: dict[bytes, int] = field(default_factory=dict)
    clock: Clock = field(default_factory=dict)
    beyond: list[tuple[int, bytes]] = field(default_factory=list)
    in_time: set[bytes] = field(default_factory=set)
    late: list[int] = field(default_factory=list)
    far: list[int] = field(default_factory=list)
    went_back: int = 0
    agreed: int = 0

    def course(self, seen: Seen) -> Course:
        return [self.one(time, key) for time, key in seen]

    def one(self, time: int, key: bytes) -> tuple[range, range, str]:
        ticks, clock, people = self.ticks, self.clock, self.ticks.time.distinct_keys
        closed, skipped = range(0), range(0)
        if self._begins_anew(time, key):
            self.late, self.latest, self.beyond, self.in_time = [], {key: time}, [], set()
            ticks.passed_anew(clock, time)
            self.went_back += 1
            return closed, skipped, ""
        moves = self._moves(time, key, people)
        if moves is not None and moves > clock.get(TIME, -1):
            passed = ticks.passed(clock, moves)
            closed, skipped = passed.closed, passed.skipped
            last = ticks.last(clock)
            self.latest[key] = max(time, self.latest.get(key, time))
            self.latest = {k: t for k, t in self.latest.items() if ticks.of(t) <= last}
            self.beyond = [(time, key)] if key not in self.latest else self.beyond
            self.late = [] if closed or skipped else self.late
        tick = ticks.of(time)
        if TIME not in clock:
            return closed, skipped, "time_not_begun"
        if tick <= clock[CLOSED]:
            return closed, skipped, "late"
        return closed, skipped, "too_far_ahead" if tick > ticks.last(clock) else ""

    def _moves(self, time: int, key: bytes, people: int) -> int | None:
        if self.ticks.time.heartbeats:
            return self._beat(time) if key in self.ticks.time.heartbeats else None
        tick = self.ticks.of(time)
        if TIME in self.clock and tick > self.ticks.last(self.clock):
            self.beyond.append((time, key))
            ends: dict[bytes, int] = {}
            for then, whose in self.beyond:
                ends[whose] = max(then, ends.get(whose, then))
            most = 2 * people - 1
            enough = IN_A_ROW if len(ends) >= most else IN_A_ROW * most
            if len(self.beyond) < enough or len(ends) < people:
                return None
            self.beyond, self.in_time = [], set()
            return sorted(ends.values())[-people]
        if self.beyond and tick > self.clock[CLOSED]:
            self.in_time.add(key)
            if len(self.in_time) >= min(2, people):
                self.beyond, self.in_time = [], set()
        if TIME not in self.clock and tick <= self.clock.get(CLOSED, -1):
            return None
        self.latest[key] = max(time, self.latest.get(key, time))
        times = sorted(self.latest.values(), reverse=True)
        if TIME in self.clock:
            return times[people - 1] if len(times) >= people else None
        near = times[: 2 * people - 1]
        for place in range(len(near) - people + 1):
            group = near[place : place + people]
            if self.ticks.of(group[0]) - self.ticks.of(group[-1]) <= self.ticks.max_jump:
                return group[people // 2]
        return None

    def _begins_anew(self, time: int, key: bytes) -> bool:
        """Return whether three late records in a row come from those who move time alone, before a
        tick is told of."""
        beats, tick = self.ticks.time.heartbeats, self.ticks.of(time)
        if UNTOLD not in self.clock or (beats and key not in beats):
            return False
        if tick > self.clock[CLOSED]:
            self.late = [] if tick <= self.ticks.last(self.clock) else self.late
            return False
        self.late = [*self.late, time][-3:]
        return self._near(self.late)

    def _beat(self, time: int) -> int | None:
        """Return the time of a heartbeat; one that is too far ahead waits for two more."""
        if TIME in self.clock and self.ticks.of(time) > self.ticks.last(self.clock):
            self.far = [*self.far, time][-3:]
            if not self._near(self.far):
                return None
            self.far, self.agreed = [], self.agreed + 1
        elif TIME in self.clock and self.ticks.of(time) > self.clock[CLOSED]:
            self.far = []
        return time

    def _near(self, times: list[int]) -> bool:
        ticks = [self.ticks.of(time) for time in times]
        return len(times) == 3 and max(ticks) - min(ticks) <= self.ticks.max_jump
