"""Riders of a bike-share: who rents a bicycle in which district, over two weeks.

Commuters rent one in the morning where they live or leave the train, and one in the evening where
they work; all go out now and then, at weekends more than on other days; on rainy days they do less
of everything: three times a day at most. A night crew opens the two weeks and closes them. The same
seed gives the same two weeks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import numpy as np
import orjson

from fugu.dataflows.offline.demo.raw_records import RawRecord
from fugu.operators.mechanism import Floats, Integers

DAYS, PER_DAY, WIDTH_MS = 14, 24, 60 * 60 * 1_000
TICKS = DAYS * PER_DAY
"""Two weeks of hours."""
BEGIN = int(datetime(2025, 6, 2, tzinfo=UTC).timestamp() * 1_000)
"""A Monday, in milliseconds since 1970."""
DISTRICTS = {
    "station": (0.30, 0.07, 0.10),
    "old-town": (0.10, 0.38, 0.35),
    "university": (0.10, 0.25, 0.10),
    "harbour": (0.10, 0.20, 0.15),
    "riverside": (0.20, 0.05, 0.25),
    "north": (0.20, 0.05, 0.05),
}
"""Shares of rentals in the morning, after work, and when people go out."""
_COMMUTERS, _OUT, _OUT_AT_WEEKENDS = 0.7, 0.35, 0.55
_MORNING, _EVENING = (8.0, 0.9), (17.2, 1.2)
_OUTING, _WEEKEND_OUTING = (15.0, 3.5), (14.0, 3.0)
"""Hours of the day: means and standard deviations."""
_WEEKEND = (5, 6)
_CREW, _AFTER_MIDNIGHT = 64, 0.5
"""So many riders, some in every partition, rent half an hour after the first and the last midnight:
a series begins with its first record, and an hour is closed by a later one."""


@dataclass(frozen=True, eq=False)
class Rentals:
    """In the order of time: when, in milliseconds after `BEGIN`, by whom, and in which district."""

    made: Integers
    rider: Integers
    district: Integers


@dataclass(frozen=True)
class Riders:
    """So many riders."""

    riders: int
    seed: int = 11

    @cached_property
    def rentals(self) -> Rentals:
        """Return the rentals of two weeks, and those of the crew that closes them."""
        random, riders = np.random.default_rng(self.seed), self.riders
        home, work, out = (
            random.choice(len(DISTRICTS), size=riders, p=shares)
            for shares in np.array(list(DISTRICTS.values())).T
        )
        commuters = random.random(riders) < _COMMUTERS
        keen, fair = random.beta(3.0, 2.0, riders), random.uniform(0.55, 1.0, DAYS)
        crew = np.arange(min(_CREW, riders))
        trips: list[tuple[Floats, Integers, Integers]] = [
            (np.full(len(crew), midnight + _AFTER_MIDNIGHT), crew, home[crew])
            for midnight in (0, TICKS)
        ]
        for day in range(DAYS):
            weekend = day % 7 in _WEEKEND
            commuting = commuters & (not weekend)
            outing = (_WEEKEND_OUTING, _OUT_AT_WEEKENDS) if weekend else (_OUTING, _OUT)
            for where, (mean, spread), share in (
                (home, _MORNING, commuting),
                (work, _EVENING, commuting),
                (out, *outing),
            ):
                hour = random.normal(mean, spread, riders)
                rents = random.random(riders) < share * keen * fair[day]
                who = np.flatnonzero(rents & (hour > _AFTER_MIDNIGHT) & (hour < PER_DAY))
                trips.append((day * PER_DAY + hour[who], who, where[who]))
        hours, rider, district = (np.concatenate(part) for part in zip(*trips, strict=True))
        order = np.argsort(hours, kind="stable")
        made = (hours[order] * WIDTH_MS).astype(np.int64)
        return Rentals(made, rider[order], district[order])

    def counts(self) -> Integers:
        """Return how many riders there were, `(ticks, districts)`; who rents twice in an hour is
        counted where the latest rental was."""
        rentals = self.rentals
        contributions = (rentals.made // WIDTH_MS) * self.riders + rentals.rider
        _, backwards = np.unique(contributions[::-1], return_index=True)
        latest = len(contributions) - 1 - backwards
        counts = np.zeros((TICKS + 1, len(DISTRICTS)), dtype=np.int64)
        np.add.at(counts, (rentals.made[latest] // WIDTH_MS, rentals.district[latest]), 1)
        return counts[:TICKS]

    @property
    def records(self) -> int:
        """Return how many records are sent."""
        return len(self.rentals.made)

    def raw(self) -> Iterator[RawRecord]:
        """A record for each rental."""
        values = [orjson.dumps({"district": district}) for district in DISTRICTS]
        columns = (self.rentals.made, self.rentals.rider, self.rentals.district)
        for made, rider, district in zip(*(column.tolist() for column in columns), strict=True):
            yield b"rider-%05d" % rider, values[district], BEGIN + made
