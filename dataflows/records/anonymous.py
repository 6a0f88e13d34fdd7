"""Write what is released of a window: a record that says what became of it, and one per person."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from fugu.dataflows.base.field_paths import released_name


@dataclass(frozen=True)
class AnonymousRecords:
    """Write records whose fields have the names that those of the source have.

    `values` are the names of the taxonomy; times of points are the beginnings of their `quantum`,
    in milliseconds since 1970.

    >>> records = AnonymousRecords("place", "diagnosis", ["Disease", "Virus infection"], 1_000)
    >>> records.write(60_000, 1, [(0, "station"), (5, 17)]).decode()
    '{"start":60000,"diagnosis":"Virus infection","points":[[60000,"station"],[65000,17]]}'
    >>> records.about(60_000, 120_000, 2).decode()
    '{"start":60000,"end":120000,"window":"released","records":2}'
    """

    location: str
    sensitive: str
    values: Sequence[str]
    quantum: int

    def write(self, start: int, category: int, points: Sequence[tuple[int, str | int]]) -> bytes:
        """Write the record of a person in the window that begins at `start`."""
        placed = [[start + quantum * self.quantum, location] for quantum, location in points]
        record = {
            "start": start,
            released_name(self.sensitive): self.values[category],
            "points": placed,
        }
        return orjson.dumps(record)

    def about(self, start: int, end: int, records: int | None) -> bytes:
        """Write what became of a window: so many records are released; None: it is suppressed."""
        if records is None:
            return orjson.dumps({"start": start, "end": end, "window": "suppressed"})
        return orjson.dumps({"start": start, "end": end, "window": "released", "records": records})
