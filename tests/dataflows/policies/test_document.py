"""A policy document is read as it is meant, and every mistake in it is answered by line."""

from datetime import date, datetime
from pathlib import Path

import orjson
import pytest
import yaml

from fugu.dataflows.policies.document import PolicyDocument
from fugu.operators.swellfish.calendar import Calendar, Once
from fugu.operators.swellfish.policy import Occurrence, Policy
from fugu.operators.swellfish.relevance import Query
from tests.dataflows.policies.documents import DOCUMENT, EXAMPLE, read, read_error, with_change

TEN_MINUTES = 600_000
CALENDAR = '{days: [mon, fri], start: "06:00", end: "09:00"}'
INTERVAL = "{start: 2026-07-18T12:00, end: 2026-07-18T13:00}"


def policy(document: PolicyDocument, name: str) -> Policy:
    return next(one for one in document.policies.collections[0].policies if one.id == name)


def tick(utc: str) -> int:
    return int(datetime.fromisoformat(f"{utc}Z").timestamp()) // 600


def test_policies_are_what_the_document_says(tmp_path: Path) -> None:
    document = read(tmp_path)
    assert document.policies.query == Query("sum", 1450)
    shower, holiday = document.policies.collections[0].policies
    assert (shower.length, shower.thresholds, shower.activities) == (2, (220,), ("boiler",))
    assert isinstance(shower.when, Calendar)
    assert (shower.when.days, shower.when.start, shower.when.end) == ((0, 4), 21_600, 32_400)
    assert (holiday.length, holiday.thresholds, holiday.activities) == (2, (100, 350), ())
    start = tick("2026-07-18T10:00")
    assert list(holiday.occurrences(0, TEN_MINUTES)) == [Occurrence(start, start + 5, (100, 350))]


def test_every_key_has_one_collection(tmp_path: Path) -> None:
    document = read(tmp_path)
    assert [document.collection_of(key) for key in (b"meter-1", b"meter-2")] == ["shop", "shop"]
    assert document.collection_of(b"meter-3") == "household"
    without_default = read(tmp_path, with_change("{default: true}", "{keys: [meter-9]}"))
    assert without_default.collection_of(b"meter-9") == "household"
    assert without_default.collection_of(b"meter-3") is None


def test_json_says_the_same_as_yaml(tmp_path: Path) -> None:
    text = orjson.dumps(yaml.safe_load(DOCUMENT), default=str, option=orjson.OPT_INDENT_2).decode()
    document = read(tmp_path, text.replace("  ", "\t"), "policies.json")
    assert document.policies.collections == read(tmp_path).policies.collections
    error = read_error(tmp_path, text.replace("PT10M", "PT0M", 1), "policies.json")
    assert error.startswith("policies.json:4: grid.tick: must be at least 1ms")
    assert read_error(tmp_path, text[:-1], "policies.json").endswith("is not valid JSON")


def test_the_example_is_read() -> None:
    document = PolicyDocument.read(EXAMPLE)
    assert [one.id for one in document.policies.collections] == ["household", "electric-car"]
    assert document.collection_of(b"meter-0017") == "electric-car"


@pytest.mark.parametrize(
    ("pattern", "ticks"),
    [
        ("{duration: PT10M}", 2),
        ("{duration: 10m, aligned: true}", 1),
        ("{duration: PT11M, aligned: true}", 2),
        ("{duration: PT11M, aligned: false}", 3),
        ("{ticks: 4}", 4),
    ],
)
def test_an_unaligned_activity_touches_one_tick_more(
    pattern: str, ticks: int, tmp_path: Path
) -> None:
    document = read(tmp_path, with_change("{duration: PT10M}", pattern))
    assert policy(document, "shower").length == ticks


@pytest.mark.parametrize(
    ("theta", "units"),
    [("2.2", 220), ('"2.2kW"', 220), ("2.201", 221), ("0", 0), ("1.0e-9", 1), ("1.0e+300", 1450)],
)
def test_thresholds_are_rounded_up_and_no_larger_than_any_change(
    theta: str, units: int, tmp_path: Path
) -> None:
    document = read(tmp_path, with_change("2.2 kW", theta))
    assert policy(document, "shower").thresholds == (units,)


@pytest.mark.parametrize(
    ("bounds", "units"), [("lower: -1, cap: 4", 500), ("lower: 2, cap: 4", 400)]
)
def test_an_individual_can_change_a_sum_from_nothing_to_its_cap(
    bounds: str, units: int, tmp_path: Path
) -> None:
    document = read(tmp_path, with_change("cap: 14.5", bounds))
    assert document.policies.largest_sensitivity == units


def test_days_may_be_limited(tmp_path: Path) -> None:
    limited = CALENDAR[:-1] + ", from: 2026-03-02, until: 2026-03-09, except: [2026-03-06]}"
    when = policy(read(tmp_path, with_change(CALENDAR, limited)), "shower").when
    assert isinstance(when, Calendar)
    assert (when.first_day, when.last_day) == (date(2026, 3, 2), date(2026, 3, 9))
    starts = [first for first, _ in when.intervals(0, TEN_MINUTES)]
    assert starts == [tick("2026-03-02T05:00"), tick("2026-03-09T05:00")]


def test_moments_with_a_zone_are_those_of_the_grids_zone(tmp_path: Path) -> None:
    utc = "{start: 2026-07-18T10:00:00Z, end: 2026-07-18T13:00+02:00}"
    same = read(tmp_path, with_change(INTERVAL, utc))
    assert policy(same, "holiday") == policy(read(tmp_path), "holiday")


def test_an_hour_that_clocks_skip_is_taken_as_the_longer_interval(tmp_path: Path) -> None:
    skipped = "{start: 2026-03-29T02:30, end: 2026-03-29T02:40}"
    when = policy(read(tmp_path, with_change(INTERVAL, skipped)), "holiday").when
    assert isinstance(when, Once)
    assert list(when.intervals(0, TEN_MINUTES)) == [
        (tick("2026-03-29T00:30"), tick("2026-03-29T01:30"))
    ]


SHOWER, HOLIDAY = "collections.household.policies.shower", "collections.household.policies.holiday"


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("version: 1", "version: 2", 1, "version: input should be 1"),
        ("epsilon: 1.0", "epsilon: 0", 4, "epsilon: must be more than 0"),
        ("epsilon: 1.0", "epsilon: 1.0\nepsilno: 2", 5, "unknown key; did you mean epsilon?"),
        ("epsilon: 1.0", "epsilon: 1\nconstraints: [a]", 5, "unsupported: constraints. Under"),
        ("tick: PT10M", "tick: 10", 2, "grid.tick: write a duration with its unit"),
        ("tick: PT10M", "tick: PT0.0005S", 2, "grid.tick: must be at least 1ms"),
        ("tick: PT10M", "tick: PT0.0015S", 2, "must be a whole number of milliseconds"),
        ("Europe/Berlin", "Europe/Bonn", 2, "grid.zone: 'Europe/Bonn' is not a time zone; write"),
        (
            "tick: PT10M",
            'origin: "2024-01-01T00:05:00Z", tick: PT10M',
            2,
            "none begins here; delete it, or write 2024-01-01T00:00:00+00:00",
        ),
        ("tick: PT10M", 'origin: "2024-01-01T00:00", tick: 1h', 2, "origin: write its zone too"),
        ("kind: sum", "kind: mean", 3, "query.kind: input should be 'sum', 'count'"),
        ("kind: sum", "kind: count", 3, "unit: count does not have it; delete it"),
        ("cap: 14.5, ", "", 3, "cap: a sum needs it"),
        ("cap: 14.5", "cap: 0", 3, "lower: must be below cap"),
        ("cap: 14.5", "cap: .inf", 3, "query.cap: input should be a finite number"),
        ("resolution: 0.01", "resolution: 0.3", 3, "must be 1 divided by a whole number"),
        ("resolution: 0.01", "resolution: 1", 3, "cap: must be a whole number of resolution"),
        ("cap: 14.5", "cap: 50_000_000", 3, "cap: must be at most 2^32 times resolution"),
        ("[boiler, stove]", "[boiler, boiler]", 5, "activities: name every one once"),
        (
            "{default: true}",
            "{}",
            8,
            "collections.household.applies_to: write either {default: true} or {keys: [...]}",
        ),
        ("keys: [meter-1, meter-2]", "keys: [17]", 20, "collections.shop.applies_to.keys.0"),
        ("keys: [meter-1, meter-2]", "keys: [a, a]", 20, "keys.1: is a key of shop already"),
        (
            "{keys: [meter-1, meter-2]}",
            "{default: true}",
            20,
            "collections.shop.applies_to.default: household is for everybody else already",
        ),
        ("id: shop", "id: household", 19, "household.id: collection 1 has this id already"),
        ("id: shop", "id: a/b", 19, "use letters, digits, dot"),
        ("id: holiday", "id: shower", 15, f"{SHOWER}.id: policy 1 of the collection has this id"),
        ("[mon, fri]", "[mon, frei]", 12, f"{SHOWER}.calendar.days.1: input should be 'mon'"),
        ("[mon, fri]", "[]", 12, f"{SHOWER}.calendar.days: list should have at least 1"),
        ('"09:00"', "18:30", 12, f"{SHOWER}.calendar.end: write a time of day in quotes"),
        ('"09:00"', '"24:00"', 12, 'midnight is "00:00"'),
        ('"09:00"', '"09:00", from: 5', 12, "calendar.from: write a day, such as 2024-05-01"),
        ('"09:00"', '"09:00", except: 2026-01-01', 12, "calendar.except: input should be"),
        (
            '"09:00"',
            '"09:00", from: 2026-02-02, until: 2026-02-01',
            12,
            f"{SHOWER}.calendar.until: is before from",
        ),
        (f"calendar: {CALENDAR}", "", 10, f"{SHOWER}: write either calendar: or interval:"),
        ("end: 2026-07-18T13:00", "end: 2026-07-18T12:00", 16, "interval.end: must be after start"),
        ("start: 2026-07-18T12:00", "start: 2026-07-18", 16, "interval.start: write a day and a"),
        (
            "tick: PT10M",
            "tick: 5ms",
            12,
            f"{SHOWER}.calendar: has 2,160,000 ticks, and 1,000,000 are",
        ),
        ("ticks: 2", "ticks: 7", 17, f"{HOLIDAY}.pattern.ticks: the interval has 6 ticks"),
        ("ticks: 2", "ticks: 0", 17, f"{HOLIDAY}.pattern.ticks: must be"),
        ("ticks: 2", "ticks: 2, aligned: true", 17, "aligned: is about a duration; delete it"),
        ("{duration: PT10M}", "{}", 13, f"{SHOWER}.pattern: write either duration: PT10M or"),
        ("[1, 3.5]", "[1, 2, 3]", 18, f"{HOLIDAY}.theta: lists 3 numbers for 2 ticks; write 2"),
        ("[1, 3.5]", "[]", 18, f"{HOLIDAY}.theta: lists nothing"),
        ("[1, 3.5]", "[1, -1]", 18, f"{HOLIDAY}.theta: must be 0 or more"),
        ("[1, 3.5]", ".nan", 18, f"{HOLIDAY}.theta: must be a finite number"),
        ("2.2 kW", ".inf", 14, f"{SHOWER}.theta: must be a finite number"),
        ("2.2 kW", "true", 14, f"{SHOWER}.theta: write a number, such as 2.2, with its unit"),
        ("2.2 kW", "2.2 kWh", 14, f"{SHOWER}.theta: is in another unit than the query; write it"),
        ("unit: kW, ", "", 14, f"{SHOWER}.theta: is in another unit than the query; write it wit"),
        ("[boiler]", "[sauna]", 11, f"{SHOWER}.activities.0: is not one of the activities of"),
        ("[boiler]", "[boiler, boiler]", 11, f"{SHOWER}.activities.1: is named twice"),
    ],
)
def test_an_error_names_line_policy_and_field(
    old: str, new: str, line: int, says: str, tmp_path: Path
) -> None:
    error = read_error(tmp_path, with_change(old, new))
    assert error.startswith(f"policies.yaml:{line}: ")
    assert says in error
    assert "\n" not in error


def test_all_policies_with_problems_are_listed_at_once(tmp_path: Path) -> None:
    wrong = with_change("2.2 kW", "2.2 W").replace("ticks: 2", "ticks: 9")
    lines = [line.split(": ")[:2] for line in read_error(tmp_path, wrong).splitlines()]
    assert lines == [
        ["policies.yaml:14", f"{SHOWER}.theta"],
        ["policies.yaml:17", f"{HOLIDAY}.pattern.ticks"],
    ]


@pytest.mark.parametrize(
    ("kind", "query"),
    [
        ("count", Query("count", 1)),
        ("histogram", Query("histogram", 2)),
        ("multi_histogram", Query("multi_histogram", 2, ("boiler", "stove"))),
    ],
)
def test_other_queries_need_no_range(kind: str, query: Query, tmp_path: Path) -> None:
    text = with_change("sum, unit: kW, cap: 14.5, resolution: 0.01", kind)
    assert read(tmp_path, text.replace("2.2 kW", "1")).policies.query == query
    assert "write it without one" in read_error(tmp_path, text)


def test_a_multi_histogram_needs_its_groups(tmp_path: Path) -> None:
    text = with_change("sum, unit: kW, cap: 14.5, resolution: 0.01", "multi_histogram")
    text = text.replace("2.2 kW", "1").replace("activities: [boiler, stove]\n", "")
    assert "activities: multi_histogram counts them; list all" in read_error(tmp_path, text)


def test_a_multi_histogram_has_as_many_groups_as_a_set_of_64_bits(tmp_path: Path) -> None:
    names = ", ".join(f"a{number}" for number in range(64))
    text = with_change("sum, unit: kW, cap: 14.5, resolution: 0.01", "multi_histogram")
    text = text.replace("2.2 kW", "1").replace("[boiler, stove]", f"[boiler, {names}]")
    assert "activities: multi_histogram takes at most 63" in read_error(tmp_path, text)
