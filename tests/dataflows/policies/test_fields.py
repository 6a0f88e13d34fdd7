"""Zones as data agree with the database they were read from, at every moment."""

import zoneinfo
from datetime import datetime
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

import pytest

from fugu.dataflows.policies.course import Course, first_day
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.fields import zone
from fugu.dataflows.policies.remarks import remarks
from fugu.operators.swellfish.calendar import Zone
from fugu.operators.swellfish.policy import Policy
from tests.dataflows.policies.documents import read, read_error, with_change

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


# A document may list secret pairs of values instead of thresholds.


SHOWER = "collections.household.policies.shower"
SUM = "sum, unit: kW, cap: 14.5, resolution: 0.01"


def of_query(kind: str, shower: str) -> str:
    """The document with another query, and its first policy with these values."""
    text = with_change(SUM, kind).replace("theta: [1, 3.5]", "theta: 1")
    return text.replace("        activities: [boiler]\n", "").replace("theta: 2.2 kW", shower)


def shower(document: PolicyDocument) -> Policy:
    return document.policies.collections[0].policies[0]


@pytest.mark.parametrize(
    ("written", "theta"),
    [
        ("between: [0, 2.2]", "2.2"),
        ("between: [0, 2.2 kW, 6 kW]", "6"),
        ("between: [6kW, 0, 2.2]", "6"),
        ("between: [-1.5, 2]", "3.5"),
        ("between: [0.001, 2.2]", "2.199"),
        ("between: [0, 1.0e+300]", "14.5"),
        ("pairs: [[0, 2.2], [3, 6]]", "3"),
        ("pairs: [[0, 2.2], [2.2 kW, 6]]", "3.8"),
    ],
)
def test_the_largest_distance_of_a_pair_counts_as_theta(
    written: str, theta: str, tmp_path: Path
) -> None:
    """The law is the same, too: what is written in another way changes no release."""
    document = read(tmp_path, with_change("theta: 2.2 kW", written))
    same = read(tmp_path, with_change("2.2 kW", theta))
    assert document.policies.collections == same.policies.collections
    assert document.policies.digest() == same.policies.digest()


def test_places_of_a_histogram_are_names(tmp_path: Path) -> None:
    for written in ("between: [boiler, stove]", "pairs: [[boiler, stove]]"):
        document = read(tmp_path, of_query("histogram", written))
        assert shower(document).thresholds == (1,)
        tick = next(shower(document).occurrences(0, 600_000)).start
        assert document.policies.relevance(tick, b"").sensitivity == 2


def test_sets_of_a_multi_histogram_say_how_many_bins_change_and_which(tmp_path: Path) -> None:
    def policy(written: str) -> Policy:
        text = of_query("multi_histogram", written)
        return shower(read(tmp_path, text.replace("[boiler, stove]", "[boiler, stove, car]", 1)))

    one = policy("between: [[], [stove]]")
    assert (one.thresholds, one.activities) == ((1,), ("stove",))
    two = policy("pairs: [[[boiler], [car]], [[], [boiler]]]")
    assert (two.thresholds, two.activities) == ((2,), ("boiler", "car"))


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("", ": write theta: or between: or pairs:, and only one of them"),
        ("theta: 1\n        between: [0, 1]", ": write theta: or between: or pairs:, and only one"),
        ("between: [1]", ".between: list should have at least 2 items"),
        ("pairs: []", ".pairs: list should have at least 1 item"),
        ("pairs: [[0, 1, 2]]", ".pairs.0: list should have at most 2 items"),
        ("pairs: [0, [0, 1]]", ".pairs.0: input should be a valid list"),
        ("between: [0, true]", ".between.1: write a number, a name, or a list of names"),
        ("between: [0, boiler]", ".between.1: write a number, such as 2.2"),
        ("between: [0, .inf]", ".between.1: must be a finite number"),
        ("between: [0, 2 kWh]", ".between.1: is in another unit than the query; write it in kW"),
        ("between: [2.2, 0, 2.20 kW]", ".between.2: is there twice; write different values"),
        ("pairs: [[0, 1], [3, 3.0]]", ".pairs.1.1: is there twice"),
        (f"between: [{', '.join(map(str, range(101)))}]", ".between: list should have at most 100"),
    ],
)
def test_an_error_names_the_place_of_a_value(written: str, says: str, tmp_path: Path) -> None:
    error = read_error(tmp_path, with_change("theta: 2.2 kW", written))
    assert f"{SHOWER}{says}" in error
    assert "\n" not in error


@pytest.mark.parametrize(
    ("kind", "written", "says"),
    [
        ("count", "between: [0, 1]", ".between: a count has two values only; write theta: 1"),
        ("count", "pairs: [[0, 1]]", ".pairs: a count has two values only; write theta: 1"),
        ("histogram", "between: [boiler, car]", ".between.1: is not among the activities of the"),
        ("histogram", "pairs: [[boiler, [stove]]]", ".pairs.0.1: write the name of one group"),
        ("multi_histogram", "between: [boiler, stove]", ".between.0: write a list of activities"),
        ("multi_histogram", "between: [[], [car]]", ".between.1: is not among the activities"),
        (
            "multi_histogram",
            "activities: [stove]\n        between: [[], [boiler]]",
            ".activities: are others than those that the pairs change; delete it",
        ),
    ],
)
def test_values_are_those_of_the_query(kind: str, written: str, says: str, tmp_path: Path) -> None:
    assert f"{SHOWER}{says}" in read_error(tmp_path, of_query(kind, written))


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("between: [0, 2.2, 6]", ""),
        ("pairs: [[0, 2.2], [2.2, 6]]", "two of them are told apart by up to 2 epsilon"),
        ("pairs: [[0, 1], [1, 2], [2, 3]]", "two of them are told apart by up to 3 epsilon"),
        ("between: [0, 20]", "a pair is more than an individual can change at all, 14.5 kW"),
    ],
)
def test_check_remarks_on_chains_and_on_values_that_are_too_far_apart(
    written: str, says: str, tmp_path: Path
) -> None:
    document = read(tmp_path, with_change("theta: 2.2 kW", written))
    found = [
        one.says
        for one in remarks(Course(document, first_day(document), 7))
        if one.about == "household/shower"
    ]
    assert [says in one for one in found] == [True] * bool(says)
