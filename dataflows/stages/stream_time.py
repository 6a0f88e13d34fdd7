"""Follow stream time in a partition, and cut its records wherever ticks close."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.base.batches import DeadLetters, Decoded, Reason
from fugu.dataflows.base.ticks import CLOSED, IN_A_ROW, NO_TICK, TIME, UNTOLD, Clock, Passed, Ticks
from fugu.operators.columns import ByteColumn, IntegerColumn, column_of, selected
from fugu.operators.mechanism import Array, Integers

# Only the newest times of distinct keys are kept, as many as count, because a key that is not among
# them can only come in with a later time. Which of those with the same time is kept decides
# nothing. Keys are kept as digests, in the clock of the partition.

_DIGEST_BYTES = 16

Times = dict[str, int]
"""The latest time of each key, by its digest."""


def digest(key: bytes) -> str:
    """Return what stands for the key."""
    return blake2b(key, digest_size=_DIGEST_BYTES).hexdigest()


def newest(times: Times, count: int) -> Times:
    """Return the `count` keys with the latest times."""
    order = sorted(times.items(), key=lambda item: (-item[1], item[0]))
    return dict(order[:count])


def heard(times: Times, told: Times, count: int) -> Times:
    """Return the `count` keys with the latest times, once some more are told."""
    later = {key: max(time, times.get(key, time)) for key, time in told.items()}
    return newest(times | later, count)


def reached(times: Times, people: int) -> int | None:
    """Return the time that so many people have come to."""
    return sorted(times.values())[-people] if len(times) >= people else None


def stored(clock: Clock, about: str) -> Times:
    """Return what a clock holds about keys under this name."""
    return {n.removeprefix(about): time for n, time in clock.items() if n.startswith(about)}


def store(clock: Clock, about: str, times: Times) -> None:
    """Hold these in a clock instead."""
    for name in [name for name in clock if name.startswith(about)]:
        del clock[name]
    clock.update({about + name: time for name, time in times.items()})


_BEYOND, _IN_TIME, _COUNT = "beyond ", "in time ", "records beyond"


@dataclass
class Silence:
    """Count people whose records are too far ahead, such records, and people who were in time.

    Stream time moves to what k people (`distinct_keys`) have reached when `IN_A_ROW` such
    records have come, of 2k - 1 people, and no two people were in time between them: k - 1 of them
    cannot choose where. Where there are not so many, 2k - 1 times as many records of k people do.
    In a partition that lives, wrong clocks get nowhere; and one person whose clock stands still
    holds nobody up.
    """

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


AGREEING = 3


@dataclass
class Agreement:
    """Keep the times of the newest records in a row, `about` which a clock holds them.

    Where a single record moves stream time, or a heartbeat, the first one that is wrong would begin
    it anywhere. So as long as no tick has closed since time began, three late ones in a row begin
    it anew; and a heartbeat that is too far ahead waits for two more. What was told of a tick is
    never taken back. A clock that is wrong again and again is believed all the same: to tell it
    from a right one takes another clock (`max_ahead`), or more people.
    """

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


def first_of_each(keys: Sequence[bytes], places: Integers) -> Iterator[int]:
    """Yield those of the places, in their order, whose key none before them has.

    >>> list(first_of_each([b"anna", b"ben", b"anna"], np.array([2, 1, 0])))
    [2, 1]
    """
    if isinstance(keys, ByteColumn):
        yield from _first_of_each(keys, places)
        return
    seen: set[bytes] = set()
    for place in places.tolist():
        if keys[place] not in seen:
            seen.add(keys[place])
            yield place


def _first_of_each(keys: ByteColumn, places: Integers) -> Iterator[int]:
    """Leave out at once all places of a key that comes a second time."""
    seen: set[bytes] = set()
    while len(places):
        key = keys[int(places[0])]
        if key in seen:
            places = np.delete(places, keys.taken(places).places_of(key))
        else:
            seen.add(key)
            yield int(places[0])
            places = places[1:]


def places_of_any(few: frozenset[bytes], keys: Sequence[bytes]) -> Integers:
    """Return the places of a few keys, in order.

    >>> places_of_any(frozenset([b"anna"]), [b"anna", b"ben", b"anna"]).tolist()
    [0, 2]
    """
    if not few:
        return np.zeros(0, dtype=np.int64)
    if isinstance(keys, ByteColumn):
        return np.sort(np.concatenate([keys.places_of(key) for key in few]))
    return np.flatnonzero([key in few for key in keys])


_FEWEST, _MOST = 500, 16_000
"""Count the records that are looked at together: few after a tick closed, and then more and more.
"""
_WITNESS = "witness "
_LATE, _FAR = "late since time began", "heartbeat ahead"
_NOTHING = Passed(range(0), range(0))

Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Records:
    """Hold records whose key and time can be read, as columns by offset.

    Those that are `readable` have a value; others are refused for it, and count as present. Those
    of a `heartbeat` are no people's.
    """

    offsets: Sequence[int]
    times: Integers
    keys: Sequence[bytes]
    values: Array
    readable: Booleans
    heartbeat: Booleans

    @classmethod
    def of(cls, decoded: Decoded, heartbeats: frozenset[bytes]) -> "Records":
        """Return the records of a batch, accepted and refused ones together."""
        refused = decoded.refused
        offsets, times, keys = decoded.offsets, column_of(decoded.timestamps), decoded.keys
        values, readable = decoded.values, np.ones(len(offsets), dtype=bool)
        if refused.offsets:
            together = np.concatenate([column_of(offsets), column_of(refused.offsets)])
            order = np.argsort(together)
            readable = order < len(offsets)
            offsets = IntegerColumn(together[order])
            times = np.concatenate([times, column_of(refused.timestamps)])[order]
            keys = selected(_joined(keys, refused.keys), order)
            values = np.empty((len(order), *decoded.values.shape[1:]), decoded.values.dtype)
            values[readable] = decoded.values
        beats = np.zeros(len(offsets), dtype=bool)
        beats[places_of_any(heartbeats, keys)] = True
        return cls(offsets, times, keys, values, readable, beats)

    def __len__(self) -> int:
        return len(self.offsets)

    def at(self, places: Integers) -> "Records":
        """Return the records at these places; the same if it is all, in order."""
        if np.array_equal(places, np.arange(len(self))):
            return self
        return Records(
            selected(self.offsets, places),
            self.times[places],
            selected(self.keys, places),
            self.values[places],
            self.readable[places],
            self.heartbeat[places],
        )

    def in_time(
        self, ticks: Ticks, clock: Clock, stretch: "Stretch", dead: DeadLetters
    ) -> "Records":
        """Return people's records in ticks that are open; others become dead letters.

        Whether there is a value to them does not matter.
        """
        here = np.arange(stretch.first, stretch.end)
        reasons = ticks.refusals(clock, self.times[here] // ticks.width)
        people = ~self.heartbeat[here]
        refused = {int(here[one]): reasons[one] for one in sorted(reasons) if people[one]}
        self.refuse(refused, dead)
        people[list(reasons)] = False
        return self.at(here[people])

    def without(self, refused: Mapping[int, Reason], dead: DeadLetters) -> "Records":
        """Return the records but for those that are refused, by their places among these."""
        self.refuse(refused, dead)
        return self.at(np.delete(np.arange(len(self)), list(refused))) if refused else self

    def refuse(self, refused: Mapping[int, Reason], dead: DeadLetters) -> None:
        """Add records at these places to the dead letters, unless they are there for a value."""
        for place, reason in refused.items():
            if self.readable[place]:
                dead.add(self.offsets[place], int(self.times[place]), reason)

    def without_heartbeats(self, dead: DeadLetters) -> DeadLetters:
        """Return refused records but for heartbeats, whose values nobody reads."""
        beats = np.flatnonzero(self.heartbeat)
        return dead.without(set(selected(self.offsets, beats))) if len(beats) else dead


@dataclass(frozen=True)
class Stretch:
    """Hold ticks that close, and the records `first` to before `end` that come after that."""

    passed: Passed
    first: int
    end: int


@dataclass
class Passage:
    """Pass one batch through the ticks of a partition, whose clock it moves.

    Between two cuts nothing depends on the order in time: the same ticks are open for all records.
    How the input was cut into batches never shows.
    """

    ticks: Ticks
    clock: Clock
    records: Records

    def __post_init__(self) -> None:
        self._people = self.ticks.time.distinct_keys
        self._witnesses = stored(self.clock, _WITNESS)
        self._silence = Silence.of(self.clock, self._people)
        self._late, self._far = Agreement.of(self.clock, _LATE), Agreement.of(self.clock, _FAR)
        self._anew = False

    def stretches(self) -> Iterator[Stretch]:
        """Yield all records, in order; while one is used, the clock stands where it does for it."""
        moving = self._moving_by_heartbeats if self.ticks.time.heartbeats else self._moving
        first, at, passed, together = 0, 0, _NOTHING, _MOST
        while at < len(self.records):
            at, time = moving(at, min(at + together, len(self.records)))
            together = min(2 * together, _MOST) if time is None else _FEWEST
            if time is None:
                continue
            if at > first or passed.closed or passed.anew:
                yield Stretch(passed, first, at)
            first, passed = at, self._passed(time)
            last = self.ticks.last(self.clock)
            there = {k: t for k, t in self._witnesses.items() if self.ticks.of(t) <= last}
            self._witnesses = newest(there, self._people)
        if at > first:
            yield Stretch(passed, first, at)
        store(self.clock, _WITNESS, self._witnesses)
        self._silence.hold(self.clock)
        self._late.hold(self.clock)
        self._far.hold(self.clock)

    def _passed(self, time: int) -> Passed:
        """Move stream time, or let it begin anew."""
        if self._anew:
            self._anew, self._witnesses = False, {}
            self._silence = Silence(self._people)
            return self.ticks.passed_anew(self.clock, time)
        passed = self.ticks.passed(self.clock, time)
        if UNTOLD not in self.clock:
            self._late.forget()
        return passed

    def _moving_by_heartbeats(self, first: int, end: int) -> tuple[int, int | None]:
        """Return the same as `_moving`, where heartbeats alone move stream time."""
        clock, ticks = self.clock, self.ticks
        for index in (first + np.flatnonzero(self.records.heartbeat[first:end])).tolist():
            time = int(self.records.times[index])
            if TIME not in clock:
                return index, time
            if ticks.of(time) > ticks.last(clock):
                if self._far.agrees(time, ticks):
                    return index, time
            elif ticks.of(time) <= clock[CLOSED]:
                if self._begins_anew(time):
                    return index, time
            else:
                self._far.forget()
                self._late.forget()
                if time >= ticks.closing(clock):
                    return index, time
                clock[TIME] = max(clock[TIME], time)
        return end, None

    def _begins_anew(self, time: int) -> bool:
        """Take in a late record of whoever moves time; return whether time begins there anew."""
        before = self.clock.get(UNTOLD)
        if before is not None and self.ticks.of(time) > before:
            self._anew = self._late.agrees(time, self.ticks)
        return self._anew

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
        until = stop if over is None else over[0]
        begins = self._beginning_anew(times[:until], beyond[:until], in_time[:until])
        if begins is not None:
            return first + begins, int(times[begins])
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

    def _beginning_anew(self, times: Integers, beyond: Booleans, in_time: Booleans) -> int | None:
        """Return the record with which time begins anew, if no tick has closed since it began, and
        one person moves it."""
        if UNTOLD not in self.clock:
            return None
        for index in np.flatnonzero(~beyond).tolist():
            if in_time[index]:
                self._late.forget()
            elif self._begins_anew(int(times[index])):
                return int(index)
        return None

    def _reached(self) -> int | None:
        return reached(self._witnesses, self._people)

    def _crossing(self, times: Integers, keys: Sequence[bytes], beyond: Booleans) -> int | None:
        """Return the first record with which so many people have come to where a tick closes."""
        closing = self.ticks.closing(self.clock)
        there = {key for key, time in self._witnesses.items() if time >= closing}
        for place in first_of_each(keys, np.flatnonzero((times >= closing) & ~beyond)):
            there.add(digest(keys[place]))
            if len(there) >= self._people:
                return place
        return None

    def _take_in(self, times: Integers, keys: Sequence[bytes], beyond: Booleans) -> None:
        """Note the newest times of distinct people, among those that are not too far ahead."""
        news = ~beyond[: len(times)]
        time = self._reached()
        if time is not None:
            news &= times > time
        some = np.flatnonzero(news)
        latest = first_of_each(keys, some[np.argsort(-times[some], kind="stable")])
        told = {digest(keys[at]): int(times[at]) for at in islice(latest, self._people)}
        if told:
            self._witnesses = heard(self._witnesses, told, self._people)


def _joined(keys: Sequence[bytes], others: Sequence[bytes]) -> Sequence[bytes]:
    if isinstance(keys, ByteColumn):
        return ByteColumn.chained([keys, ByteColumn.of(others)])
    return [*keys, *others]
