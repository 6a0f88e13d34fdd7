"""Households that use appliances: for each use an occurrence of a policy that hides when it was.

Which households use what, and how often, is drawn so that the medians of 55 of them are those of
the paper's study: noise for what is relevant in a tick is for 0.037 of a whole household, half of
all ticks have nothing relevant, and intervals differ in a tenth of their ticks. An appliance is
used at most once a day, rather in the evening; it may be any T of the 4 T hours around. One more
runs for weeks. The same seed gives the same households.

>>> first, second = households(2, seed=1)
>>> len(first.occurrences), first.window, len(second.occurrences), second.window
(112, 1480, 255, 1240)
>>> first.occurrences[0]
Occurrence(start=0, end=3, thresholds=(750,))
>>> first.timeline().relevance(0, b"")
Relevance(sensitivity=750, intervals=(Interval(start=0, end=3, affected=1),))

Source: Swellfish specification, section 7.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from examples.household.zones import TICKS
from fugu.operators.mechanism import Floats
from fugu.operators.swellfish.calendar import Once, Zone
from fugu.operators.swellfish.policy import Collection, Occurrence, Policy
from fugu.operators.swellfish.relevance import Query
from fugu.operators.swellfish.timeline import Policies

HOUR_MS = 3_600_000
DAYS = TICKS // 24


@dataclass(frozen=True)
class Appliance:
    """`load` in units of 10 W, for `hours`; half of the households use it more often than so many
    times in half a year."""

    name: str
    load: int
    hours: int
    uses: float


APPLIANCES = (
    Appliance("shower", 750, 1, 12.0),
    Appliance("sauna", 600, 3, 8.0),
    Appliance("hob", 350, 2, 12.0),
    Appliance("oven", 280, 2, 10.0),
    Appliance("washing machine", 220, 2, 12.0),
    Appliance("dishwasher", 190, 4, 12.0),
    Appliance("vacuum cleaner", 120, 1, 10.0),
    Appliance("television", 40, 5, 9.0),
    Appliance("lamps", 25, 5, 9.0),
)
LONG_LOADS = {"heater": 160, "dehumidifier": 22}
"""One of them runs for weeks."""
LONG_HOURS = 264, 416
LARGEST_LOAD = sum(one.load for one in APPLIANCES) + sum(LONG_LOADS.values())
"""27.57 kW: everything at once."""
MORE_OR_LESS = 0.8
"""Standard deviations of logarithms: of how much a household uses at all, and of each appliance."""
OFTEN = 0.9
"""No appliance is used on more days than this."""
AROUND = 4
"""|J| / T."""


@dataclass(frozen=True)
class Household:
    """All that it wants hidden, in order."""

    occurrences: tuple[Occurrence, ...]

    @property
    def window(self) -> int:
        """Return the ticks of its longest interval: w of mechanisms that know no intervals."""
        return max(one.ticks for one in self.occurrences)

    def timeline(self) -> Policies:
        """Its policies, as if everybody had them; a policy for each occurrence."""
        utc, tick = Zone("UTC", ((0, 0),)), timedelta(milliseconds=HOUR_MS)
        policies = tuple(
            Policy(
                f"use {number}",
                Once(utc, _EPOCH + one.start * tick, _EPOCH + (one.end + 1) * tick),
                one.length,
                one.thresholds,
            )
            for number, one in enumerate(self.occurrences)
        )
        return Policies(HOUR_MS, Query("sum", LARGEST_LOAD), (Collection("home", policies),))


def households(number: int, seed: int) -> list[Household]:
    """So many; the first ones are the same, however many follow."""
    generators = (np.random.default_rng((seed, one)) for one in range(number))
    return [Household(tuple(sorted(_occurrences(one)))) for one in generators]


def _occurrences(rng: np.random.Generator) -> Iterator[Occurrence]:
    much = rng.normal(0.0, MORE_OR_LESS)
    for one in APPLIANCES:
        uses = one.uses * np.exp(much + rng.normal(0.0, MORE_OR_LESS))
        for day in np.flatnonzero(rng.random(DAYS) < min(OFTEN, uses / DAYS)).tolist():
            hour = int(rng.choice(24, p=_BY_HOUR))
            yield _around(24 * day + hour, one.hours, one.load)
    hours = int(rng.integers(LONG_HOURS[0], LONG_HOURS[1], endpoint=True))
    start = int(rng.integers(TICKS - AROUND * hours, endpoint=True))
    yield _hidden(start, hours, int(rng.choice(list(LONG_LOADS.values()))))


def _around(begin: int, hours: int, load: int) -> Occurrence:
    """With a use that begins at a tick in the middle, or at an end of the half-year."""
    start = begin - (AROUND - 1) * hours // 2
    return _hidden(min(max(start, 0), TICKS - AROUND * hours), hours, load)


def _hidden(start: int, hours: int, load: int) -> Occurrence:
    return Occurrence(start, start + AROUND * hours - 1, (load,) * hours)


def _by_hour() -> Floats:
    """A little at any time, some at seven, and more at seven in the evening."""
    hour = np.arange(24)
    often = 0.3 + np.exp(-(((hour - 7) / 1.5) ** 2)) + 1.5 * np.exp(-(((hour - 19) / 2.5) ** 2))
    return np.asarray(often / often.sum())


_BY_HOUR = _by_hour()
_EPOCH = datetime(1970, 1, 1)
