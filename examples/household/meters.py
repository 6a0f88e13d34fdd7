"""Meters of a few hundred households: the power of each one, ten minutes by ten minutes.

Everybody has some base load, showers in the morning or later, cooks in the evening, and now and
then does the laundry; two households charge an electric car at night, and one has a sauna. The same
seed gives the same days.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from zoneinfo import ZoneInfo

import numpy as np
import orjson

from fugu.dataflows.offline.demo.raw_records import RawRecord
from fugu.operators.mechanism import Floats, Integers

DAYS, PER_DAY, WIDTH_MS = 3, 144, 600_000
TICKS = DAYS * PER_DAY
BEGIN = datetime(2026, 1, 13, tzinfo=ZoneInfo("Europe/Berlin"))
"""A Tuesday."""
BEGIN_MS = int(BEGIN.timestamp()) * 1000
FIRST_TICK = BEGIN_MS // WIDTH_MS
LARGEST_KW = 14.5
CARS, SAUNA = (17, 42), 5
"""Numbers of households."""
_LATEST_MS = WIDTH_MS // 2
"""The latest time after the beginning of a tick at which meters send."""


@dataclass(frozen=True)
class Use:
    """`share` of households use it on a day, at about `hour`, for so many ticks."""

    share: float
    hour: float
    spread: float
    ticks: int
    kilowatts: float


USES = (
    Use(0.75, 7.2, 0.7, 1, 2.2),
    Use(0.30, 20.8, 0.9, 1, 2.2),
    Use(0.20, 12.3, 0.6, 4, 2.0),
    Use(0.70, 18.6, 0.7, 4, 3.0),
    Use(0.25, 13.5, 3.0, 9, 0.9),
    Use(0.80, 20.5, 1.2, 18, 0.25),
)
"""Showers, dinner at noon and in the evening, laundry, and an evening at home."""
_CAR, _STOVE = Use(1.0, 20.5, 0.4, 18, 11.0), Use(1.0, 13.5, 0.3, 3, 6.0)


@dataclass(frozen=True)
class Meters:
    """Three days of so many households, and one more tick, which closes the last day."""

    households: int
    seed: int = 3

    @cached_property
    def kilowatts(self) -> Floats:
        """Return what everybody draws in each tick, `(households, ticks)`."""
        random, shape = np.random.default_rng(self.seed), (self.households, TICKS + 1)
        base = random.lognormal(np.log(0.25), 0.4, self.households)[:, None]
        drawn = base * random.lognormal(0.0, 0.25, shape)
        everybody = np.arange(self.households)
        for use in USES:
            self._add(drawn, random, use, everybody)
        self._add(drawn, random, _CAR, np.array(CARS))
        self._add(drawn, random, _STOVE, np.array([SAUNA]))
        return np.asarray(np.round(np.minimum(drawn, LARGEST_KW), 2), dtype=np.float64)

    def _add(
        self, drawn: Floats, random: np.random.Generator, use: Use, households: Integers
    ) -> None:
        for day in range(DAYS):
            using = households[random.random(len(households)) < use.share]
            using = using[using < self.households]
            hours = random.normal(use.hour, use.spread, len(using))
            begins = PER_DAY * day + np.rint(hours * PER_DAY / 24).astype(np.int64)
            for tick in range(use.ticks):
                drawn[using, np.minimum(begins + tick, TICKS)] += use.kilowatts

    def totals(self) -> Floats:
        """Return what all draw together."""
        return np.asarray(self.kilowatts[:, :TICKS].sum(axis=0))

    @property
    def records(self) -> int:
        """Return how many records are sent."""
        return self.kilowatts.size

    def raw(self, first: int = 0, last: int = TICKS) -> Iterator[RawRecord]:
        """The records of these ticks, both included, in the order in which they are made."""
        random = np.random.default_rng(self.seed + 1)
        delays = np.sort(random.integers(0, _LATEST_MS, self.households))
        for tick in range(first, last + 1):
            for household, delay in enumerate(delays.tolist()):
                value = orjson.dumps({"kw": float(self.kilowatts[household, tick])})
                yield b"meter-%04d" % household, value, BEGIN_MS + tick * WIDTH_MS + delay
