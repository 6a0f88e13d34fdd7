"""Pass the records of a partition in the order in which they came, cut wherever ticks close.

Between two cuts nothing depends on the order in time: the same ticks are open for all records. How
the input was cut into batches never shows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.base.batches import DeadLetters, Decoded, Reason
from fugu.dataflows.base.ticks import CLOSED, NO_TICK, TIME, Clock, Passed, Ticks
from fugu.dataflows.stages.silence import Silence
from fugu.dataflows.stages.witnesses import digest, heard, newest, reached, store, stored
from fugu.operators.mechanism import Integers

_AHEAD = 1_000
"""Count the records that are looked at together."""
_WITNESS = "witness "
_NOTHING = Passed(range(0), range(0))


@dataclass(frozen=True)
class Records:
    """Hold all records of a batch whose key and time can be read, as columns by offset; `values`
    are places among the accepted ones, -1 where a record is refused."""

    offsets: Sequence[int]
    times: Integers
    keys: Sequence[bytes]
    values: Integers
    heartbeats: Integers

    @classmethod
    def of(cls, decoded: Decoded, heartbeats: frozenset[bytes]) -> "Records":
        """Return the records of a batch, accepted and refused ones together."""
        refused = decoded.refused
        offsets, times, keys = decoded.offsets, decoded.timestamps, decoded.keys
        values: Integers = np.arange(len(offsets))
        if refused.offsets:
            offsets = [*offsets, *refused.offsets]
            order = sorted(range(len(offsets)), key=offsets.__getitem__)
            times, keys = [*times, *refused.timestamps], [*keys, *refused.keys]
            offsets, times, keys = (
                [offsets[i] for i in order],
                [times[i] for i in order],
                [keys[i] for i in order],
            )
            values = np.array(order, dtype=np.int64)
            values[values >= len(decoded.offsets)] = -1
        beats: list[int] = []
        if not heartbeats.isdisjoint(keys):
            beats = [index for index, key in enumerate(keys) if key in heartbeats]
        columns = np.array(times, dtype=np.int64), keys, values, np.array(beats, dtype=np.int64)
        return cls(offsets, *columns)

    def __len__(self) -> int:
        return len(self.offsets)

    def in_time(
        self, ticks: Ticks, clock: Clock, stretch: "Stretch", dead: DeadLetters
    ) -> Integers:
        """Return the places of people's records in ticks that are open; others become dead letters.

        Whether there is a value to them does not matter.
        """
        first, end = stretch.first, stretch.end
        reasons = ticks.refusals(clock, self.times[first:end] // ticks.width)
        people = np.ones(end - first, dtype=bool)
        beats = self.heartbeats[(self.heartbeats >= first) & (self.heartbeats < end)] - first
        people[beats] = False
        for place, reason in sorted(reasons.items()):
            if people[place]:
                self.refuse(first + place, reason, dead)
        people[list(reasons)] = False
        return first + np.flatnonzero(people)

    def without(
        self, places: Integers, refused: Mapping[int, Reason], dead: DeadLetters
    ) -> Integers:
        """Return the places but for those that are refused, by their number among them."""
        for number, reason in refused.items():
            self.refuse(int(places[number]), reason, dead)
        return np.delete(places, list(refused)) if refused else places

    def keys_of(self, places: Integers) -> list[bytes]:
        """Return the keys of records at these places."""
        return [self.keys[place] for place in places.tolist()]

    def refuse(self, place: int, reason: Reason, dead: DeadLetters) -> None:
        """Add a record to the dead letters, unless it is there for its value."""
        if self.values[place] >= 0:
            dead.add(self.offsets[place], int(self.times[place]), reason)

    def without_heartbeats(self, dead: DeadLetters) -> DeadLetters:
        """Return refused records but for heartbeats, whose values nobody reads."""
        if not len(self.heartbeats):
            return dead
        return dead.without({self.offsets[place] for place in self.heartbeats.tolist()})


@dataclass(frozen=True)
class Stretch:
    """Hold ticks that close, and the records `first` to before `end` that come after that."""

    passed: Passed
    first: int
    end: int


@dataclass
class Passage:
    """Pass one batch through the ticks of a partition, whose clock it moves."""

    ticks: Ticks
    clock: Clock
    records: Records

    def __post_init__(self) -> None:
        self._people = self.ticks.time.distinct_keys
        self._witnesses = stored(self.clock, _WITNESS)
        self._silence = Silence.of(self.clock, self._people)

    def stretches(self) -> Iterator[Stretch]:
        """Yield all records, in order; while one is used, the clock stands where it does for it."""
        moving = self._moving_by_heartbeats if self.ticks.time.heartbeats else self._moving
        at, passed = 0, _NOTHING
        while at < len(self.records):
            end, time = moving(at, min(at + _AHEAD, len(self.records)))
            if end > at or passed.closed:
                yield Stretch(passed, at, end)
                passed = _NOTHING
            if time is not None:
                passed = self.ticks.passed(self.clock, time)
                last = self.ticks.last(self.clock)
                there = {k: t for k, t in self._witnesses.items() if self.ticks.of(t) <= last}
                self._witnesses = newest(there, self._people)
            at = end
        store(self.clock, _WITNESS, self._witnesses)
        self._silence.hold(self.clock)

    def _moving_by_heartbeats(self, first: int, end: int) -> tuple[int, int | None]:
        """Return the same as `_moving`, where heartbeats alone move stream time."""
        clock, beats = self.clock, self.records.heartbeats
        for index in beats[(beats >= first) & (beats < end)].tolist():
            time = int(self.records.times[index])
            if TIME not in clock or time >= self.ticks.closing(clock):
                return index, time
            clock[TIME] = max(clock[TIME], time)
        return end, None

    def _moving(self, first: int, end: int) -> tuple[int, int | None]:
        """Return the record at which ticks close or time begins, and stream time from there on; or
        `end`, and None. Records before it are taken in."""
        if TIME not in self.clock:
            return self._beginning(first, end)
        time = self._reached()
        if time is not None and time >= self.ticks.closing(self.clock):
            return first, time
        times, keys = self.records.times[first:end], self.records.keys[first:end]
        tick_after = self.ticks.last(self.clock) + 1
        beyond = times >= tick_after * self.ticks.width
        in_time = ~beyond & (times >= (self.clock[CLOSED] + 1) * self.ticks.width)
        crossing = self._crossing(times, keys, beyond)
        stop = len(times) if crossing is None else crossing
        over = self._silence.over(keys, times[:stop], beyond[:stop], in_time[:stop])
        if over is not None:
            self._take_in(times[: over[0]], keys, beyond)
            return first + over[0], over[1]
        self._take_in(times[: stop + 1], keys, beyond)
        time = self._reached()
        if crossing is not None:
            return first + crossing, time
        if time is not None:
            self.clock[TIME] = max(self.clock[TIME], time)
        return end, None

    def _beginning(self, first: int, end: int) -> tuple[int, int | None]:
        """Return the same as `_moving`: time begins in the middle of so many people near each
        other.

        None of them chooses where, and fewer who are elsewhere change nothing.
        """
        times = self.records.times[first:end]
        late = times // self.ticks.width <= self.clock.get(CLOSED, NO_TICK)
        for index in (first + np.flatnonzero(~late)).tolist():
            key, time = digest(self.records.keys[index]), int(self.records.times[index])
            self._witnesses = heard(self._witnesses, {key: time}, 2 * self._people - 1)
            times_of = sorted(self._witnesses.values(), reverse=True)
            for place, low in enumerate(times_of[self._people - 1 :]):
                if self.ticks.of(times_of[place]) - self.ticks.of(low) <= self.ticks.max_jump:
                    return index, times_of[place + self._people // 2]
        return end, None

    def _reached(self) -> int | None:
        return reached(self._witnesses, self._people)

    def _crossing(
        self, times: Integers, keys: Sequence[bytes], beyond: NDArray[np.bool_]
    ) -> int | None:
        """Return the first record with which so many people have come to where a tick closes."""
        closing = self.ticks.closing(self.clock)
        there = {key for key, time in self._witnesses.items() if time >= closing}
        seen: set[bytes] = set()
        for index in np.flatnonzero((times >= closing) & ~beyond).tolist():
            key = keys[index]
            if key not in seen:
                seen.add(key)
                there.add(digest(key))
                if len(there) >= self._people:
                    return index
        return None

    def _take_in(self, times: Integers, keys: Sequence[bytes], beyond: NDArray[np.bool_]) -> None:
        """Note the newest times of distinct people, among those that are not too far ahead."""
        news = ~beyond[: len(times)]
        time = self._reached()
        if time is not None:
            news &= times > time
        some = np.flatnonzero(news)
        later: dict[bytes, int] = {}
        for index in some[np.argsort(-times[some], kind="stable")].tolist():
            if len(later) == self._people:
                break
            later.setdefault(keys[index], int(times[index]))
        if later:
            told = {digest(key): time for key, time in later.items()}
            self._witnesses = heard(self._witnesses, told, self._people)
