"""Time zones by their IANA names, as data; without a database of the system, from `tzdata`."""

from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fugu.operators.swellfish.zone import Zone

FIRST_YEAR, LAST_YEAR = 1970, 2100
_FIRST, _LAST = (
    int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (FIRST_YEAR, LAST_YEAR)
)
_STEP = 2 * 86_400
"""No zone has had two offsets within less than six days."""


@cache
def zone(name: str) -> Zone:
    """Return what clocks show in these years; `ValueError` if there is no such zone."""
    info = zone_info(name)
    transitions = [(_FIRST, _offset(info, _FIRST))]
    for before, after in pairwise([*range(_FIRST, _LAST, _STEP), _LAST]):
        if _offset(info, after) != transitions[-1][1]:
            second = _first_unlike(info, before, after)
            transitions.append((second, _offset(info, second)))
    return Zone(name, tuple(transitions))


def zone_info(name: str) -> ZoneInfo:
    """The same for single moments."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"{name!r} is not a time zone; write its IANA name, such as Europe/Berlin or UTC"
        ) from None


def _first_unlike(info: ZoneInfo, before: int, after: int) -> int:
    offset = _offset(info, before)
    while after - before > 1:
        middle = (before + after) // 2
        if _offset(info, middle) == offset:
            before = middle
        else:
            after = middle
    return after


def _offset(info: ZoneInfo, second: int) -> int:
    ahead = datetime.fromtimestamp(second, info).utcoffset()
    assert ahead is not None
    return int(ahead.total_seconds())
