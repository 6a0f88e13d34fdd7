"""Read visits, and write what is released of a window of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import orjson

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.field_paths import released_name
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.json_fields import Record, Refused, required
from fugu.dataflows.records.values import ReleasedAs

LONGEST_LOCATION = 200
"""Bytes of a location as JSON: so many points of a person fit a message."""
Visit = tuple[int, str | int]
"""The index of the sensitive value, and the location."""


class Visits:
    """Read a location, text or an integer, and a sensitive value among the `values` of a taxonomy.

    >>> visits = Visits("place", "diagnosis", ["Disease", "Dengue", "H1N1"])
    >>> visits.read({"place": "station", "diagnosis": "H1N1"})
    b'[2,"station"]'
    """

    dtype = np.dtype(object)
    released_as: ClassVar[ReleasedAs] = "person"

    def __init__(self, location: str, sensitive: str, values: Sequence[str]) -> None:
        self.field = location
        self.fields = (location, sensitive)
        self.sensitive = Alphabet(sensitive, values)

    def read(self, record: Record) -> bytes:
        """Return the visit as JSON; `visit_of` reads it."""
        location = required(record, self.field)
        if type(location) not in (str, int):
            raise Refused(Reason.WRONG_TYPE, self.field)
        visit = orjson.dumps([self.sensitive.read(record), location])
        if location == "" or len(orjson.dumps(location)) > LONGEST_LOCATION:
            raise Refused(Reason.OUTSIDE_DOMAIN, self.field)
        return visit

    def read_column(self, records: Sequence[Record]) -> list[bytes]:
        """Read many records."""
        return list(map(self.read, records))


def visit_of(content: bytes) -> Visit:
    """Return what `Visits.read` wrote."""
    sensitive, location = orjson.loads(content)
    return sensitive, location


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
