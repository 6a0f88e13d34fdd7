"""Read time zones by their IANA names as data, from the system or else from `tzdata`."""

from bisect import bisect_left
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fugu.operators.swellfish.zone import Zone

FIRST_YEAR, LAST_YEAR = 1970, 2100
FIRST_SECOND, LAST_SECOND = (
    int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (FIRST_YEAR, LAST_YEAR)
)
_STEP = 2 * 86_400
"""No zone has had two offsets within less than six days."""


@cache
def zone(name: str) -> Zone:
    """Return what clocks show in these years; `ValueError` if there is no such zone."""
    info = zone_info(name)
    transitions = [(FIRST_SECOND, _offset(info, FIRST_SECOND))]
    for before, after in pairwise([*range(FIRST_SECOND, LAST_SECOND, _STEP), LAST_SECOND]):
        offset = _offset(info, after)
        if offset != transitions[-1][1]:
            span = range(before, after + 1)
            second = before + bisect_left(span, True, key=lambda one: _offset(info, one) == offset)
            transitions.append((second, offset))
    return Zone(name, tuple(transitions))


def zone_info(name: str) -> ZoneInfo:
    """Return the zone for single moments; `ValueError` if there is no such zone."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"{name!r} is not a time zone; write its IANA name, such as Europe/Berlin or UTC"
        ) from None


def _offset(info: ZoneInfo, second: int) -> int:
    ahead = datetime.fromtimestamp(second, info).utcoffset()
    assert ahead is not None
    return int(ahead.total_seconds())
