"""Riders of a city: they begin the day at home and move by a chain that everybody may know.

The same seed gives the same day.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import orjson

from fugu.dataflows.offline.demo.raw_records import RawRecord
from fugu.operators.mechanism import Integers

TICKS, WIDTH_MS, FIRST_HOUR = 48, 15 * 60 * 1_000, 6
"""Twelve hours of quarters of an hour."""
ZONES = ("north", "east", "south", "west", "station", "centre")
MATRIX = Path(__file__).with_name("moves.json")
MOVES: tuple[tuple[float, ...], ...] = tuple(map(tuple, orjson.loads(MATRIX.read_bytes())))
"""The probabilities of the next place, a quarter of an hour later, by the place before."""
_HOMES = (0.30, 0.25, 0.20, 0.20, 0.02, 0.03)
_FIRST_MS = 60_000
"""Nobody sends earlier in a tick, so that no record is late for the tick before."""


@dataclass(frozen=True)
class Riders:
    """A day of so many riders, and one more tick, which closes the day; riders are rows."""

    riders: int
    ticks: int = TICKS
    seed: int = 3

    @cached_property
    def zones(self) -> Integers:
        """Return where everybody is in each tick, `(riders, ticks + 1)`."""
        random = np.random.default_rng(self.seed)
        ahead = np.cumsum(MOVES, axis=1)
        at = [random.choice(len(ZONES), size=self.riders, p=_HOMES)]
        for _ in range(self.ticks):
            drawn = random.random(self.riders)[:, None]
            at.append(np.minimum((drawn >= ahead[at[-1]]).sum(axis=1), len(ZONES) - 1))
        return np.stack(at, axis=1)

    def counts(self) -> Integers:
        """Return how many riders are in each zone, `(ticks, zones)`."""
        columns = self.zones.T[: self.ticks]
        return np.stack([np.bincount(at, minlength=len(ZONES)) for at in columns])

    @property
    def records(self) -> int:
        """Return how many records are sent."""
        return self.zones.size

    def raw(self, begin: int) -> Iterator[RawRecord]:
        """Records in the order of time: one of every rider in every tick."""
        random = np.random.default_rng(self.seed + 1)
        values = [orjson.dumps({"zone": zone}) for zone in ZONES]
        keys = [b"rider-%05d" % rider for rider in range(self.riders)]
        for tick, at in enumerate(self.zones.T.tolist()):
            made = begin + tick * WIDTH_MS + random.integers(_FIRST_MS, WIDTH_MS, self.riders)
            for rider in np.argsort(made, kind="stable").tolist():
                yield keys[rider], values[at[rider]], int(made[rider])
