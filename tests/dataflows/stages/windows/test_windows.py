"""Windows are anonymised once all partitions have told of them, and nothing shows how they came."""

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
import orjson
import pytest

from fugu.dataflows.base.errors import FuguError, UnsafeRelease
from fugu.dataflows.stages import windows
from fugu.dataflows.stages.log_entries import PoliciesCovered
from fugu.dataflows.stages.windows import WindowPeople
from fugu.operators.anonymity import anonymization
from fugu.operators.anonymity.attacks import Attack, Attacks
from tests.dataflows.stages.windows.patients import (
    DAYS,
    DIAGNOSES,
    HOUR,
    Patients,
    Visit,
    bytes_of,
    days,
)

EVERYTHING = days(3)


def release(patients: Patients, placed: list[tuple[int, Visit]], **how: Any) -> list[Any]:
    return bytes_of(patients.published(patients.released(patients.told(placed, **how))))


@cache
def whole() -> list[Any]:
    return release(Patients(), EVERYTHING)


def records(published: list[Any]) -> list[dict[str, Any]]:
    return [orjson.loads(value) for _, value, *_ in published]


def test_each_window_says_what_became_of_it_and_has_a_record_for_each_person() -> None:
    found = records(whole())
    heads = [one for one in found if "window" in one]
    assert [one["start"] for one in heads] == [day * DAYS.width for day in (10, 11, 12)]
    assert [one["window"] for one in heads] == ["released"] * 3
    for head in heads:
        people = [one for one in found if one["start"] == head["start"] and "points" in one]
        assert len(people) == head["records"]
        assert {one["diagnosis"] for one in people} <= {"Virus", "Bacteria", "Lung"}
    assert {timestamp for *_, timestamp in whole()} == {one["end"] for one in heads}


def test_no_two_known_points_single_anybody_out() -> None:
    matching: dict[object, list[dict[str, Any]]] = {}
    for one in records(whole()):
        points = [tuple(point) for point in one.get("points", [])]
        for known in [*combinations(points, 1), *combinations(points, 2)]:
            matching.setdefault(known, []).append(one)
    assert len(matching) > 50, "there is something left to be known"
    for matched in matching.values():
        assert len(matched) >= 3
        assert max(Counter(one["diagnosis"] for one in matched).values()) <= len(matched) / 2


def test_a_pseudonym_is_fresh_in_every_window_and_ids_are_all_different() -> None:
    keys = [key for key, *_ in whole() if key is not None]
    assert len(set(keys)) == len(keys)
    ids = [headers[0] for _, _, headers, _ in whole()]
    assert len(set(ids)) == len(ids)


def test_windows_of_other_places_or_other_people_share_no_key_and_not_their_order() -> None:
    """Two pipelines of one name and secret over one topic: equal keys would join their releases."""
    elsewhere = [
        (part, (who, when, f"{place} 7", what)) for part, (who, when, place, what) in EVERYTHING
    ]
    others = [
        (part, (f"{who}z", when, place, what)) for part, (who, when, place, what) in EVERYTHING
    ]
    for there in (elsewhere, others):
        found = release(Patients(), there)
        assert len(found) == len(whole())
        assert not {key for key, *_ in found if key} & {key for key, *_ in whole() if key}
        diagnoses = [[one.get("diagnosis") for one in records(all_)] for all_ in (found, whole())]
        assert diagnoses[0] != diagnoses[1]
        assert sorted(map(str, diagnoses[0])) == sorted(map(str, diagnoses[1]))


def test_nothing_of_users_and_raw_values_leaves() -> None:
    for key, value, headers, _ in whole():
        content = b"".join([key or b"", value, *(part for _, part in headers)])
        assert b"user" not in content
        assert not any(name.encode() in content for name in DIAGNOSES)


@pytest.mark.parametrize("at_once", [1, 7])
def test_how_input_is_cut_into_batches_never_shows(at_once: int) -> None:
    assert release(Patients(), EVERYTHING, at_once=at_once) == whole()


def test_the_order_of_arrival_within_grace_changes_no_byte() -> None:
    random = Random(3)
    delayed = sorted(EVERYTHING, key=lambda one: one[1][1] + random.randrange(2 * HOUR))
    assert delayed != EVERYTHING
    assert release(Patients(), delayed) == whole()


@pytest.mark.parametrize("at_once", [13, 1_000])
def test_the_order_of_arrival_around_midnight_changes_no_byte(at_once: int) -> None:
    """Records of the next window come while this one is open, and some beyond those that may be."""
    random, nights = Random(5), days(3, people=160, hours=range(20, 28))
    ticks = replace(DAYS, grace=4 * HOUR)
    whole = release(Patients(ticks=ticks), nights)
    for _ in range(3):
        delayed = sorted(nights, key=lambda one: one[1][1] + random.randrange(4 * HOUR))
        patients = Patients(ticks=ticks)
        assert release(patients, delayed, at_once=at_once) == whole
        assert not patients.dead
    assert sum(len(points) for points in map(points_of, whole)) > 200


def points_of(record: tuple[Any, ...]) -> list[Any]:
    points: list[Any] = orjson.loads(record[1]).get("points", [])
    return points


def test_which_partition_wrote_first_never_shows() -> None:
    patients = Patients()
    parts = patients.told(EVERYTHING)
    one, other = ([part for part in parts if part.partition == number] for number in (0, 1))
    assert bytes_of(patients.published(patients.released([*other, *one]))) == whole()
    mixed = [part for pair in zip(one, other, strict=True) for part in pair]
    assert bytes_of(patients.published(patients.released(mixed))) == whole()


def test_entries_that_stand_in_the_log_twice_count_once() -> None:
    patients = Patients()
    parts = [again for part in patients.told(EVERYTHING) for again in (part, part)]
    assert bytes_of(patients.published(patients.released(parts))) == whole()


def test_restarts_anywhere_change_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "PART_BYTES", 500)
    patients, parts = Patients(), list[WindowPeople]()
    for start in range(0, len(EVERYTHING), 50):
        parts += patients.told(EVERYTHING[start : start + 50])
        patients.restart()
    assert any(part.parts > 5 for part in parts), "windows of several entries"
    parts.sort(key=lambda part: part.part)
    parts.sort(key=lambda part: part.tick)
    told = patients.released(parts, restarting=True)
    assert bytes_of(patients.published(told)) == whole()


def test_entries_of_others_are_refused() -> None:
    patients = Patients()
    with pytest.raises(FuguError, match="not written by this pipeline"):
        list(patients.merge(patients.merge.start(), PoliciesCovered(7)))


def test_a_window_waits_for_the_last_of_its_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "PART_BYTES", 500)
    patients = Patients()
    parts = patients.told(EVERYTHING)
    last = parts.pop()
    assert last.parts > 1
    assert [one.tick for one in patients.released(parts)] == [10, 11]
    assert [one.tick for one in patients.released([*parts, last])] == [10, 11, 12]


def test_entries_of_one_window_have_names_of_their_own() -> None:
    publisher, keys, ticks = Patients().publisher, [b"0"] * 3, [7] * 3
    named = publisher.tick_headers("log", keys, ticks, np.arange(3))
    plain = publisher.tick_headers("log", keys, ticks)
    assert len({headers[0] for headers in named}) == 3
    assert {headers[0] for headers in plain} == {named[0][0]}


def test_people_of_a_key_in_two_partitions_are_one_person() -> None:
    """As with `partitioner: unchecked`, where nobody can tell before."""
    patients = Patients(people=2)
    visits: list[tuple[int, Visit]] = [
        (part, (f"user-{who}", at(9 + part), "clinic", DIAGNOSES[who % 4]))
        for part in range(2)
        for who in range(8)
    ]
    end = [(part, ("user-0", at(27), "clinic", "Dengue")) for part in range(2)]
    told = patients.released(patients.told([*visits, *end]))
    released = next(one for one in told if one.tick == 10).records
    assert released is not None
    assert len(released) == 8
    assert {len(record.points) for record in released} == {2}


def test_every_entry_fits_a_message_whatever_a_person_sends() -> None:
    """The longest keys and locations, in as many points as a person may have."""
    points = [(number, number, 1, "\\" * 98) for number in range(1_000)]
    content = windows.written_points(points)
    people = [b"u" * 65_536] * 20
    parts = windows.in_parts(0, 0, people, [content] * 20)
    assert sum(len(part.people) for part in parts) == 20
    assert max(len(part.encoded()) for part in parts) < 1_000_000


def one_day(*visits: Visit) -> list[tuple[int, Visit]]:
    end = ("clock", 11 * DAYS.width + 3 * HOUR, "clinic", "Asthma")
    begin = ("clock", 10 * DAYS.width, "clinic", "Asthma")
    return [(0, visit) for visit in (begin, *visits, end)]


def at(hour: float) -> int:
    return 10 * DAYS.width + int(hour * HOUR)


def gathered(patients: Patients, *visits: Visit) -> dict[bytes, Any]:
    parts = patients.told(one_day(*visits))
    return {
        key: orjson.loads(points)
        for part in parts
        for key, points in zip(part.people, part.points, strict=True)
        if key != b"clock"
    }


def test_the_latest_place_of_a_quantum_counts_however_records_arrive() -> None:
    visits = [
        ("ada", at(8.2), "market", "Dengue"),
        ("ada", at(8.7), "school", "Dengue"),
        ("ada", at(8.7), "clinic", "Dengue"),
        ("ada", at(9.1), "market", "Dengue"),
    ]
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)):
        found = gathered(Patients(partitions=1), *(visits[place] for place in order))
        assert [[point[0], point[3]] for point in found[b"ada"]] == [[8, "school"], [9, "market"]]


def test_a_second_sensitive_value_is_a_dead_letter_and_the_first_one_counts() -> None:
    visits = [("ada", at(8), "market", "Dengue"), ("ada", at(9), "school", "Cholera")]
    patients = Patients(partitions=1)
    found = gathered(patients, *visits)
    assert [point[3] for point in found[b"ada"]] == ["market"]
    assert patients.dead == [(0, 2, "other_sensitive_value")]


def test_linked_windows_have_a_record_for_each_value_of_a_person_under_one_pseudonym() -> None:
    patients = Patients(linked=True, people=2)
    twice: list[tuple[int, Visit]] = [
        (who % 2, (f"user-{who}", at(9 + number), "clinic", DIAGNOSES[(who + number) % 4]))
        for who in range(8)
        for number in (0, 1)
    ]
    end = [(part, ("user-0", at(27), "clinic", "Dengue")) for part in range(2)]
    told = patients.released(patients.told([*twice, *end]))
    released = next(one for one in told if one.tick == 10).records
    assert released is not None
    assert not patients.dead
    assert max(Counter(record.key for record in released).values()) == 2
    assert len(released) == 16


def test_more_people_and_points_than_declared_are_dead_letters() -> None:
    patients = Patients(partitions=1, max_people=3, max_points=2)
    visits = [
        *[(f"user-{who}", at(8), "market", "Dengue") for who in range(3)],
        *[("user-0", at(hour), "market", "Dengue") for hour in (8.5, 9, 10)],
    ]
    found = gathered(patients, *visits)
    assert set(found) == {b"user-0", b"user-1"}, "the clock is a person, too"
    assert [point[0] for point in found[b"user-0"]] == [8, 9]
    assert patients.dead == [(0, 3, "too_many_people"), (0, 6, "too_many_points")]


def test_people_of_a_closed_window_make_room_for_those_of_the_next() -> None:
    patients = Patients(partitions=1, max_people=4)
    for day in range(10, 16):
        patients.told(
            [
                (0, (f"user-{day}-{who}", day * DAYS.width + 4 * HOUR, "market", "Dengue"))
                for who in range(4)
            ]
        )
    assert not patients.dead
    held = [points for points in patients.tables[0].live("points").ravel() if points is not None]
    assert len(held) == 4, "nothing is kept of windows that are closed"


def test_a_window_of_too_few_people_is_suppressed_and_says_no_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    patients = Patients(people=40)
    told = patients.released(patients.told(EVERYTHING))
    assert all(window.records is None for window in told)
    assert (
        "window_suppressed: the window from 1970-01-11T00:00:00+00:00: 60 people were in it, and "
        "at least 80 are to be (min_people)"
    ) in caplog.text
    for found in records(bytes_of(patients.published(told))):
        assert found.keys() == {"start", "end", "window"}
        assert found["window"] == "suppressed"


def test_a_window_on_which_an_attack_succeeds_is_not_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A fault of the repair is found by the check that follows it."""
    none, one = Attack(), Attack(1, 1)
    monkeypatch.setattr(anonymization, "attacked", lambda *_: Attacks(9, one, none, none, none))
    patients = Patients()
    with pytest.raises(UnsafeRelease, match="attacks succeed") as refused:
        patients.released(patients.told(EVERYTHING))
    assert "user" not in str(refused.value)
