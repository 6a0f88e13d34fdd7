"""Zones as data, and policies that hold once."""

from datetime import UTC, datetime, timedelta

from fugu.operators.swellfish.calendar import Once, Zone
from fugu.operators.swellfish.policy import Policy

HOUR = 3600
HOURLY = HOUR * 1000
"""Milliseconds of a tick of an hour."""

GREENWICH = Zone("UTC", ((0, 0),))


def utc(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> int:
    """Seconds since 1970."""
    return int(datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp())


BERLIN = Zone(
    "Europe/Berlin",
    (
        (utc(2023, 10, 29, 1), HOUR),
        (utc(2024, 3, 31, 1), 2 * HOUR),
        (utc(2024, 10, 27, 1), HOUR),
    ),
)


def once(name: str, start: int, end: int, length: int = 1, *thresholds: int) -> Policy:
    """Hold a policy once, in ticks of an hour, both included."""
    begin, after = (datetime(1970, 1, 1) + timedelta(hours=tick) for tick in (start, end + 1))
    return Policy(name, Once(GREENWICH, begin, after), length, thresholds or (1,))
