"""Count whom an attacker finds in the records, in what stage 1 leaves, and in the release."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.table import Table

from examples.patients.analyst import Record, Window, singled_out
from examples.patients.people import DAY_MS, DAYS, HOUR_MS, People

CROWD, KNOWN = 5, 2
TITLES = {"recorded": "recorded", "thesis": "stage 1 (thesis)", "repair": "released"}


@dataclass(frozen=True, eq=False)
class Released:
    """Hold what was recorded from `begin` on, and what each procedure made of it."""

    people: People
    begin: int
    by_procedure: dict[str, list[Window]]

    def days(self, name: str) -> Iterator[list[Record]]:
        """The records of each day: of a procedure, or as they were recorded."""
        if name in self.by_procedure:
            yield from (window.records or [] for window in self.by_procedure[name])
            return
        for day in range(DAYS):
            start = self.begin + day * DAY_MS
            yield [
                Record(
                    patient.category,
                    tuple((start + hour * HOUR_MS, place) for hour, place in patient.ways[day]),
                )
                for patient in self.people.patients
            ]

    def found(self, name: str) -> tuple[int, int]:
        """Count records that are singled out, over all days: among few people, and by category."""
        both = [singled_out(records, CROWD, KNOWN) for records in self.days(name)]
        return sum(few for few, _ in both), sum(told for _, told in both)

    def points(self, name: str) -> int:
        """Return how many points there are, over all days."""
        return sum(len(record.points) for records in self.days(name) for record in records)


def table(released: Released) -> Table:
    """Points and records that are left, and whom two known points single out."""
    shown = Table(
        title=f"{DAYS} days; an attacker knows {KNOWN} points of a person",
        caption="what an attacker finds is counted by the analyst, from the topics alone",
    )
    shown.add_column("")
    for heading in ("records", "points", f"among fewer than {CROWD}", "diagnosis told"):
        shown.add_column(heading, justify="right")
    for name, title in TITLES.items():
        few, told = released.found(name)
        records = sum(len(day) for day in released.days(name))
        shown.add_row(title, f"{records:,}", f"{released.points(name):,}", f"{few:,}", f"{told:,}")
    return shown
