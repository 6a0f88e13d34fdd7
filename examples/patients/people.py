"""Patients of a small town: from home over a station to a clinic, a shop, and home again.

Which clinic somebody goes to depends on the diagnosis, as it does. One point in seven is somewhere
else. The same seed gives the same days.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from random import Random

import orjson

from fugu.dataflows.offline.demo.raw_records import RawRecord

DAYS, DAY_MS, HOUR_MS = 3, 24 * 3_600_000, 3_600_000
HOURS = range(6, 22, 2)
"""Somebody is somewhere every two hours, from six in the morning on."""
PLACES = {
    "hills": (1.0, 8.4),
    "gardens": (2.8, 6.6),
    "village": (0.8, 3.6),
    "riverside": (2.4, 1.2),
    "north station": (4.2, 7.8),
    "south station": (4.4, 2.6),
    "market": (5.4, 5.2),
    "arcade": (6.8, 3.4),
    "town clinic": (6.4, 7.0),
    "lung clinic": (8.8, 8.2),
    "heart clinic": (9.2, 5.0),
    "hospital": (8.2, 1.4),
}
"""Places on the map of the town."""
CATEGORIES = {
    "Infection": ("Influenza", "Dengue", "Cholera", "Tuberculosis"),
    "Lung": ("Asthma", "Bronchitis"),
    "Heart": ("Arrhythmia", "Hypertension"),
    "Metabolism": ("Diabetes", "Thyroid"),
}
_HOMES, _SHOPS = ("hills", "gardens", "village", "riverside"), ("market", "arcade")
_CLINICS = ("town clinic", "lung clinic", "heart clinic", "hospital")
_OWN_CLINIC = {"Infection": 3, "Lung": 1, "Heart": 2, "Metabolism": 0}
_SPECIAL, _ELSEWHERE = 0.2, 0.15
"""Shares of those who go to the clinic of their disease, and of points that are somewhere else."""
_NIGHT = ((2, "hospital"),)
"""The records of the next day, one of everybody, which close the last one."""

Way = tuple[tuple[int, str], ...]
"""Hours of a day and places."""


@dataclass(frozen=True)
class Patient:
    """One patient: a diagnosis, its category, and a way for each day."""

    key: bytes
    diagnosis: str
    category: str
    ways: tuple[Way, ...]


@dataclass(frozen=True)
class People:
    """So many patients, for some days, and two hours more, which close the last one."""

    people: int
    seed: int = 7

    @cached_property
    def patients(self) -> list[Patient]:
        """Everybody, with all ways."""
        random = Random(self.seed)
        return [self._patient(random, number) for number in range(self.people)]

    @property
    def records(self) -> int:
        """Return how many records were sent."""
        return self.people * (DAYS * len(HOURS) + 1)

    def raw(self, begin: int) -> Iterator[RawRecord]:
        """Records in the order of time."""
        random = Random(self.seed + 1)
        visits = [
            (begin + day * DAY_MS + hour * HOUR_MS + random.randrange(2 * HOUR_MS), patient, place)
            for patient in self.patients
            for day, way in enumerate((*patient.ways, _NIGHT))
            for hour, place in way
        ]
        for at, patient, place in sorted(visits, key=lambda visit: visit[0]):
            record = {"at": at, "place": place, "diagnosis": patient.diagnosis}
            yield patient.key, orjson.dumps(record), at

    def _patient(self, random: Random, number: int) -> Patient:
        category = random.choice(list(CATEGORIES))
        home, shop = random.choice(_HOMES), random.choice(_SHOPS)
        special = random.random() < _SPECIAL
        clinic = _CLINICS[_OWN_CLINIC[category]] if special else random.choice(_CLINICS)
        station = "north station" if home in ("hills", "gardens") else "south station"
        usual = (home, station, clinic, clinic, shop, station, home, home)
        ways = tuple(
            tuple(
                (hour, random.choice(list(PLACES)) if random.random() < _ELSEWHERE else place)
                for hour, place in zip(HOURS, usual, strict=True)
            )
            for _ in range(DAYS)
        )
        diagnosis = random.choice(CATEGORIES[category])
        return Patient(b"patient-%04d" % number, diagnosis, category, ways)
