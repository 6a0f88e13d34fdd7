"""People who rest, walk and run, and watches that send their heart rate every minute.

Watches are taken off now and then, some readings arrive late, and a watch that was out of reach
sends everything at once. The same seed gives the same day.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import orjson

from fugu.dataflows.offline.demo.raw_records import RawRecord
from fugu.operators.mechanism import Floats, Integers

MINUTES = 24 * 60
MINUTE_MS = 60_000
_ASLEEP, _AWAKE, _WALKING, _RUNNING = -6.0, 10.0, 38.0, 88.0
"""Beats a minute above those of somebody who sits still."""
_RESPONSE, _MEMORY, _NOISE = 0.4, 0.6, 2.2
_LATE, _LATE_MS = 0.02, 100_000
_OUT_OF_REACH, _OUT_OF_REACH_MINUTES = 0.1, 12


@dataclass(frozen=True)
class Watches:
    """A day of so many people; people are rows, minutes are columns."""

    people: int
    seed: int = 7

    @cached_property
    def bpm(self) -> Floats:
        """Return what was measured; not a number where the watch was off."""
        random = np.random.default_rng(self.seed)
        measured = np.empty((self.people, MINUTES))
        for person in range(self.people):
            goal = random.normal(62.0, 6.0) + _effort(random)
            rate, noise = goal[0], 0.0
            for minute, aim in enumerate(goal.tolist()):
                rate += _RESPONSE * (aim - rate)
                noise = _MEMORY * noise + random.normal(0.0, _NOISE)
                measured[person, minute] = round(rate + noise, 2)
            measured[person, _off(random)] = np.nan
        return measured

    @property
    def readings(self) -> int:
        """Return how many readings there are."""
        return int((~np.isnan(self.bpm)).sum())

    def names(self) -> list[bytes]:
        """Keys of the raw topic."""
        return [b"participant-%03d" % person for person in range(self.people)]

    def raw(self, begin: int) -> Iterator[RawRecord]:
        """Records in the order in which they arrive, with the time at which they were measured."""
        names = self.names()
        people, minutes = np.nonzero(~np.isnan(self.bpm))
        measured = begin + minutes * MINUTE_MS + self._milliseconds[people]
        order = np.argsort(measured + self._on_the_way(people, minutes), kind="stable")
        for number in order.tolist():
            person, minute = int(people[number]), int(minutes[number])
            reading = {"bpm": float(self.bpm[person, minute]), "watch": f"w-{person}"}
            yield names[person], orjson.dumps(reading), int(measured[number])

    @cached_property
    def _milliseconds(self) -> Integers:
        """Return when in a minute each watch measures."""
        return np.random.default_rng(self.seed + 1).integers(0, MINUTE_MS, self.people)

    def _on_the_way(self, people: Integers, minutes: Integers) -> Integers:
        """Milliseconds from a reading to its arrival."""
        random = np.random.default_rng(self.seed + 2)
        late = random.random(len(people)) < _LATE
        slow = np.where(late, random.integers(0, _LATE_MS, len(people)), 0)
        lost = random.integers(60, MINUTES - 60, self.people)
        lost[random.random(self.people) > _OUT_OF_REACH] = MINUTES
        back = lost[people] + _OUT_OF_REACH_MINUTES
        unreachable = (lost[people] <= minutes) & (minutes < back)
        return np.where(unreachable, (back - minutes) * MINUTE_MS, slow)


def _effort(random: np.random.Generator) -> Floats:
    """Return what a person does in every minute of the day."""
    effort = np.full(MINUTES, _AWAKE)
    wakes, sleeps = random.normal(7 * 60, 40), random.normal(22.7 * 60, 35)
    minute = np.arange(MINUTES)
    effort[(minute < wakes) | (minute > sleeps)] = _ASLEEP
    for _ in range(random.poisson(4)):
        _spend(effort, random, wakes, sleeps, (8, 45), _WALKING)
    if random.random() < 0.5:
        _spend(effort, random, wakes, sleeps, (20, 50), _RUNNING)
    return effort


def _spend(
    effort: Floats,
    random: np.random.Generator,
    wakes: float,
    sleeps: float,
    minutes: tuple[int, int],
    level: float,
) -> None:
    length = int(random.integers(*minutes))
    begin = int(random.uniform(wakes + 20, sleeps - 20 - length))
    effort[begin : begin + length] = level * random.uniform(0.9, 1.1)


def _off(random: np.random.Generator) -> Integers:
    """Minutes without a reading: single ones, and while the watch is charged. Never the first."""
    off = random.random(MINUTES) < 0.01
    for _ in range(random.integers(1, 4)):
        begin, length = int(random.integers(1, MINUTES)), int(random.integers(5, 45))
        off[begin : begin + length] = True
    off[0] = False
    return np.flatnonzero(off)
