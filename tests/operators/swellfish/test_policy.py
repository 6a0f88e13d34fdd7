"""Policies: patterns that fit into intervals, and plain data."""

import json
from datetime import date, datetime
from itertools import islice
from random import Random
from typing import Any

import pytest

from fugu.operators.swellfish.calendar import Calendar, Once
from fugu.operators.swellfish.policy import Collection, Occurrence, Policy, affected_ticks, cut_to
from tests.operators.swellfish.enumeration import most_affected, random_occurrence
from tests.operators.swellfish.zones import BERLIN, HOUR, HOURLY, once, utc

NIGHT = Policy(
    "night", Calendar(BERLIN, tuple(range(7)), HOUR, 4 * HOUR, date(2024, 3, 30)), 3, (1, 5, 2)
)


def test_single_threshold_holds_for_all_ticks_of_the_pattern() -> None:
    assert [one.thresholds for one in once("a", 3, 9, 2, 7).occurrences(0, HOURLY)] == [(7, 7)]
    assert [one.thresholds for one in once("a", 3, 4, 9, 7).occurrences(0, HOURLY)] == [(7, 7)]


def test_pattern_is_cut_where_clocks_are_put_forward() -> None:
    first = utc(2024, 3, 30) * 1000 // HOURLY
    nights = list(islice(NIGHT.occurrences(first, HOURLY), 3))
    assert [night.ticks for night in nights] == [3, 2, 3]
    assert [night.thresholds for night in nights] == [(1, 5, 2), (5, 5), (1, 5, 2)]


def test_cut_covers_every_part_of_the_pattern_that_fills_the_interval_and_no_more() -> None:
    random = Random(4)
    for _ in range(300):
        thresholds = tuple(random.choices(range(9), k=random.randrange(1, 7)))
        ticks = random.randrange(1, len(thresholds) + 1)
        parts = [thresholds[place : place + ticks] for place in range(len(thresholds) - ticks + 1)]
        assert cut_to(ticks, thresholds) == tuple(map(max, zip(*parts, strict=True)))


def test_plain_data_and_back() -> None:
    holiday = Policy("trip", Once(BERLIN, datetime(2024, 1, 1), datetime(2024, 2, 1)), 4, (9,))
    for policy in (NIGHT, holiday):
        assert Policy.from_data(json.loads(json.dumps(policy.to_data()))) == policy


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("length", 0),
        ("length", 2.0),
        ("thresholds", [1, 2]),
        ("thresholds", []),
        ("thresholds", [1, 5, -2]),
        ("thresholds", "123"),
        ("thresholds", [1, True, 2]),
        ("activities", ["boiler", "boiler"]),
        ("activities", [""]),
        ("when", 5),
        ("colour", "red"),
    ],
)
def test_wrong_data_are_refused_naming_policy_and_field(field: str, value: object) -> None:
    said = "must be an object" if field == "when" else f"{field}: "
    with pytest.raises(ValueError, match=f"^policy night: {said}"):
        Policy.from_data({**NIGHT.to_data(), field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [("days", [1, "mon"]), ("start", None), ("first_day", "tomorrow"), ("except_days", [3])],
)
def test_wrong_calendar_is_refused_naming_policy_and_field(field: str, value: object) -> None:
    data: dict[str, Any] = NIGHT.to_data()
    data["when"][field] = value
    with pytest.raises(ValueError, match=f"^policy night: {field}: "):
        Policy.from_data(data)


def test_a_field_that_is_missing_is_named() -> None:
    data = NIGHT.to_data()
    del data["length"]
    with pytest.raises(ValueError, match=r"^policy night: length: is missing"):
        Policy.from_data(data)


def test_collection_has_every_id_once() -> None:
    with pytest.raises(ValueError, match=r"^collection household: policies: "):
        Collection("household", (NIGHT, NIGHT))


# delta(J): the paper's example, and the exact maximum by exhaustive search.


def test_example_of_the_paper() -> None:
    short, long = Occurrence(2, 3, (10,)), Occurrence(3, 6, (22, 22))
    assert affected_ticks(2, 3, [short, long]) == 2
    assert affected_ticks(3, 6, [short, long]) == 3


def test_no_neighbours_differ_in_more_ticks_and_the_bound_is_nearly_exact() -> None:
    random = Random(7)
    ratios = []
    for _ in range(2000):
        collection = [random_occurrence(random) for _ in range(random.randrange(1, 5))]
        for one in collection:
            bound = affected_ticks(one.start, one.end, collection)
            exact = most_affected(one.start, one.end, collection)
            assert exact <= bound
            ratios.append(bound / exact)
    mean = sum(ratios) / len(ratios)
    tight = sum(ratio == 1.0 for ratio in ratios) / len(ratios)
    assert mean == pytest.approx(1.0095, abs=0.001)
    assert tight == pytest.approx(0.957, abs=0.01)
