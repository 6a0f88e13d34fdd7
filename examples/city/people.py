"""A city of commuters: where everybody is, quarter of an hour by quarter of an hour.

Most people work in another zone than they live in, some go out in the evening, telephones are
switched off now and then, and some records arrive late. The same seed gives the same day.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import orjson

from fugu.dataflows.offline.demo.raw_records import RawRecord
from fugu.operators.mechanism import Integers

TICKS, WIDTH_MS = 96, 15 * 60 * 1_000
"""A day of quarters of an hour."""
ZONES = {
    "centre": (0.05, 0.28, 0.45),
    "harbour": (0.05, 0.08, 0.30),
    "university": (0.05, 0.14, 0.05),
    "station": (0.02, 0.10, 0.05),
    "hospital": (0.02, 0.08, 0.00),
    "works": (0.01, 0.14, 0.00),
    "airport": (0.01, 0.07, 0.00),
    "stadium": (0.04, 0.02, 0.15),
    "gardens": (0.25, 0.03, 0.00),
    "hills": (0.18, 0.02, 0.00),
    "riverside": (0.20, 0.03, 0.00),
    "village": (0.12, 0.01, 0.00),
}
"""Shares of homes, of work, and of evenings out."""
_WORKING, _OUT, _OFF, _LATE = 0.72, 0.25, 0.03, 0.02
_LATE_MS = 100_000
_FIRST_MS = 120_000
"""Nobody sends earlier in a tick, so that no record could belong to the tick before the day."""
_PER_HOUR = 4


@dataclass(frozen=True)
class People:
    """A day of so many people, and one more tick, which closes the day; people are rows."""

    people: int
    seed: int = 5

    @cached_property
    def zones(self) -> Integers:
        """Return where everybody is in each tick; -1 where nothing was sent."""
        random, people = np.random.default_rng(self.seed), self.people
        homes, works, evenings = np.array(list(ZONES.values())).T
        home, work, out = (
            random.choice(len(ZONES), size=people, p=shares / shares.sum())
            for shares in (homes, works, evenings)
        )
        tick = np.arange(TICKS + 1)
        at = np.repeat(home[:, None], TICKS + 1, axis=1)
        for where, share, begin, length in (
            (work, _WORKING, (8.2, 0.9), (8.8, 0.8)),
            (out, _OUT, (19.3, 0.7), (2.6, 0.8)),
        ):
            first = random.normal(*begin, people)
            last = first + random.normal(*length, people)
            goes = random.random(people) < share
            there = (first * _PER_HOUR)[:, None] <= tick
            there &= ((last * _PER_HOUR)[:, None] > tick) & goes[:, None]
            at = np.where(there, where[:, None], at)
        return np.where(random.random(at.shape) < _OFF, -1, at)

    def counts(self) -> Integers:
        """Return how many people were in each zone, `(ticks, zones)`."""
        return np.stack(
            [np.bincount(at[at >= 0], minlength=len(ZONES)) for at in self.zones.T[:TICKS]]
        )

    @property
    def records(self) -> int:
        """Return how many records were sent."""
        return int((self.zones >= 0).sum())

    def raw(self, begin: int) -> Iterator[RawRecord]:
        """Records in the order in which they arrive, with the time at which they were made."""
        random = np.random.default_rng(self.seed + 1)
        people, ticks = np.nonzero(self.zones >= 0)
        made = begin + ticks * WIDTH_MS + random.integers(_FIRST_MS, WIDTH_MS, len(people))
        late = random.random(len(people)) < _LATE
        arrives = made + np.where(late, random.integers(0, _LATE_MS, len(people)), 0)
        values = [orjson.dumps({"zone": zone}) for zone in ZONES]
        for number in np.argsort(arrives, kind="stable").tolist():
            person, tick = int(people[number]), int(ticks[number])
            yield b"person-%04d" % person, values[self.zones[person, tick]], int(made[number])
