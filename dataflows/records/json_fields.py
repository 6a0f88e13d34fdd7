"""Read single fields of a JSON object strictly: `"3"` is not `3`, `true` is not `1`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import floor, isfinite
from typing import Literal

import numpy as np

from fugu.dataflows.base.batches import Reason
from fugu.operators.mechanism import Integers, Releases


class UnusableSchema(ValueError):
    """Report that records of a schema are not read."""


EARLIEST_MEANT = 10**11
"""The first millisecond that is taken as meant, in 1973: seconds of now are less."""
Format = Literal["epoch-ms", "epoch-s", "rfc3339"]


def advice(unit: Format, *, too_small: bool) -> str:
    """Return what a time looks like that is too small, or too large, for the unit it is read in.

    What is read as a time before 1973 was written in a larger unit than the one it is read in, and
    what is beyond the year 9999 in a smaller one. Nothing that is released is decided by this.

    >>> advice("epoch-ms", too_small=True)
    'it looks like seconds; write source.timestamp.format: epoch-s'
    """
    match unit, too_small:
        case "epoch-ms", True:
            return "it looks like seconds; write source.timestamp.format: epoch-s"
        case "epoch-ms", False:
            return "it looks like microseconds; producers must convert them"
        case "epoch-s", False:
            return "it looks like milliseconds; write source.timestamp.format: epoch-ms"
        case _:
            return "it is no time since 1970; look at what producers write"


LATEST_TIMESTAMP = 253_402_300_799_999
"""The last millisecond of the year 9999; anything beyond is a mistake of the producer."""

ENDS = (b"}", b',"repeated":true}')
"""The end of the object of a release that is `Kind.FRESH` or `Kind.REPEATED`; no other is written.
"""

WORTH_JSON_WRITING = 64
"""Fewer releases are written sooner by a loop than by a compiled function."""

Record = dict[str, object]


class Refused(Exception):
    """Report that one record is not acceptable."""

    def __init__(self, reason: Reason, field: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.field = field


def required(record: Record, field: str) -> object:
    """Return the content of a field that must be there."""
    try:
        return record[field]
    except KeyError:
        raise Refused(Reason.FIELD_MISSING, field) from None


def of_wrong_type(value: object, field: str) -> Refused:
    """Return why a field is refused that holds something else than it should."""
    finite = not isinstance(value, float) or isfinite(value)
    return Refused(Reason.WRONG_TYPE if finite else Reason.NOT_FINITE, field)


def ends(releases: Releases) -> list[bytes]:
    """Return the end of the JSON object of each release."""
    return [ENDS[kind] for kind in kinds_of(releases).tolist()]


def kinds_of(releases: Releases) -> Integers:
    """Return the `Kind` of each release: the place of its end."""
    if releases.kinds is None:
        return np.zeros(len(releases.values), dtype=np.int64)
    return np.asarray(releases.kinds, dtype=np.int64)


@dataclass(frozen=True)
class FieldTimestamp:
    """Read event time from a field of the record, in units since 1970.

    These are whole, or else may have `fractions`, of which parts of milliseconds go.

    >>> FieldTimestamp("at", 1000, fractions=True).read({"at": 1767225600.0019})
    1767225600001
    """

    field: str
    milliseconds_per_unit: int
    fractions: bool = False

    def read(self, record: Record) -> int:
        """Return milliseconds since 1970."""
        value = required(record, self.field)
        if type(value) is int:
            milliseconds = value * self.milliseconds_per_unit
        elif self.fractions and type(value) is float and isfinite(value):
            milliseconds = floor(Fraction(repr(value)) * self.milliseconds_per_unit)
        else:
            raise of_wrong_type(value, self.field)
        if not 0 <= milliseconds <= LATEST_TIMESTAMP:
            raise Refused(Reason.OUTSIDE_DOMAIN, self.field)
        return milliseconds

    def written(self, milliseconds: int) -> object:
        """Return what a record holds that is of this time."""
        return milliseconds // self.milliseconds_per_unit

    def read_column(self, records: Sequence[Record]) -> list[int]:
        """Read many records at once."""
        column = [one for record in records if type(one := record.get(self.field)) is int]
        if len(column) == len(records):
            milliseconds = [one * self.milliseconds_per_unit for one in column]
            if min(milliseconds) >= 0 and max(milliseconds) <= LATEST_TIMESTAMP:
                return milliseconds
        return list(map(self.read, records))


_RFC_3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d{1,12})?(?:[Zz]|[-+]\d\d:\d\d)", re.ASCII
)
_MILLISECOND = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class TextTimestamp(FieldTimestamp):
    """Read event time as RFC 3339 writes it, with its offset from UTC; parts of milliseconds go.

    >>> TextTimestamp("time").read({"time": "1970-01-01T01:00:00.0429+01:00"})
    42
    """

    milliseconds_per_unit: int = 1

    def read(self, record: Record) -> int:
        """Return milliseconds since 1970."""
        value = required(record, self.field)
        if type(value) is not str or not _RFC_3339.fullmatch(value):
            raise Refused(Reason.WRONG_TYPE, self.field)
        try:
            moment = datetime.fromisoformat(value.upper())
            milliseconds = (moment - _EPOCH) // _MILLISECOND
        except (ValueError, OverflowError):  # such as a second 60, which no clock can name
            raise Refused(Reason.OUTSIDE_DOMAIN, self.field) from None
        if not 0 <= milliseconds <= LATEST_TIMESTAMP:
            raise Refused(Reason.OUTSIDE_DOMAIN, self.field)
        return milliseconds

    def written(self, milliseconds: int) -> object:
        """Return the time in UTC."""
        moment = _EPOCH + milliseconds * _MILLISECOND
        return moment.isoformat(timespec="milliseconds")

    def read_column(self, records: Sequence[Record]) -> list[int]:
        """Read many records."""
        return list(map(self.read, records))


def user_key(record: Record, field: str) -> bytes:
    """Return the bytes that a producer sends as key for a text or a whole number.

    >>> user_key({"user": "anna"}, "user"), user_key({"user": 4711}, "user")
    (b'anna', b'4711')
    """
    return key_bytes(required(record, field), field)


def key_bytes(user: object, field: str) -> bytes:
    """Return the key of what a field holds; `Refused` where that names nobody."""
    if user is None or user == "":
        raise Refused(Reason.NO_KEY, field)
    if isinstance(user, bool) or not isinstance(user, str | int):
        raise Refused(Reason.WRONG_TYPE, field)
    return str(user).encode()
