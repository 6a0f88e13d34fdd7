"""Zones as data agree with the database they were read from, at every moment."""

import zoneinfo
from datetime import datetime
from random import Random
from zoneinfo import ZoneInfo

import pytest

from fugu.dataflows.policies.zones import zone
from fugu.operators.swellfish.zone import Zone

DAY = 86_400


def offset(info: ZoneInfo, second: int) -> float:
    ahead = datetime.fromtimestamp(second, info).utcoffset()
    assert ahead is not None
    return ahead.total_seconds()


def known_offset(zone: Zone, second: int) -> int:
    return [ahead for begin, ahead in zone.transitions if begin <= second][-1]


@pytest.mark.parametrize(
    "name",
    [
        "UTC",
        "Europe/Berlin",
        "America/Recife",  # had daylight saving time for a week
        "Africa/Casablanca",  # interrupts it for Ramadan
        "Australia/Lord_Howe",  # puts clocks forward by half an hour
        "Pacific/Apia",  # left out a day
    ],
)
def test_offsets_are_those_of_the_database(name: str) -> None:
    known, info, random = zone(name), ZoneInfo(name), Random(name)
    moments = [random.randrange(0, 130 * 365 * DAY) for _ in range(1_000)]
    moments += [second + more for second, _ in known.transitions[1:] for more in (-1, 0, 1)]
    assert all(known_offset(known, moment) == offset(info, moment) for moment in moments)


def test_every_change_of_clocks_is_one_transition() -> None:
    assert len(zone("Europe/Berlin").transitions) == 1 + 2 * len(range(1980, 2100))
    assert zone("UTC").transitions == ((0, 0),)


@pytest.mark.parametrize("name", ["Europe/Bonn", "", "Europe", "../UTC", "/etc/passwd", "a\0b"])
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a time zone; write its IANA name, such as Eur"):
        zone(name)


def test_without_a_database_of_the_system_the_package_serves() -> None:
    """As in slim containers."""
    before = zoneinfo.TZPATH
    try:
        zoneinfo.reset_tzpath(to=[])
        ZoneInfo.clear_cache()
        zone.cache_clear()
        assert len(zone("Europe/Berlin").transitions) == 241
    finally:
        zoneinfo.reset_tzpath(to=before)
        ZoneInfo.clear_cache()
        zone.cache_clear()
