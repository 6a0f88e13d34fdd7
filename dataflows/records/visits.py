"""Read where a person was, and what is sensitive about the person; write anonymised records."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import orjson

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.json_fields import Record, Refused, required
from fugu.dataflows.records.released_as import ReleasedAs

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
