"""Check what a round must notice: a record too many, too few, changed or drawn anew."""

import csv
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.chaos.faults import ALL, named
from tests.chaos.loads import City
from tests.chaos.outcome import (
    Tally,
    Topic,
    Wrong,
    check_equal,
    check_no_release_twice,
    check_one_content,
    check_same_entries,
    tally,
)
from tests.chaos.results import EQUAL, add, row
from tests.chaos.rounds import FAULTS_PER_ROUND, plans
from tests.faults.test_aggregate_crashes import BEGIN, SECOND, ZONES
from tests.kafka.records import Record


def release(name: bytes, value: bytes = b"{}") -> Record:
    return Record(b"ada", value, (("fugu-release", name),), 1)


PER_ROUND = 500
PEACE: Topic = {0: [release(b"a"), release(b"b")], 1: [release(b"c")]}


def test_equal_topics_are_equal() -> None:
    check_equal(PEACE, {partition: list(records) for partition, records in PEACE.items()})
    check_no_release_twice(PEACE)
    assert check_one_content(PEACE) == 0


@pytest.mark.parametrize(
    ("disturbed", "text"),
    [
        ({0: PEACE[0][:1], 1: PEACE[1]}, "partition 0: 1 records instead of 2"),
        ({0: [*PEACE[0], release(b"d")], 1: PEACE[1]}, "partition 0: 3 records instead of 2"),
        ({0: PEACE[0][::-1], 1: PEACE[1]}, "partition 0: record 0 differs"),
        ({0: PEACE[0], 1: [release(b"c", b"1")]}, "partition 1: record 0 differs"),
        ({0: PEACE[0], 1: [replace(PEACE[1][0], timestamp=2)]}, "partition 1: record 0 differs"),
    ],
)
def test_another_topic_is_told_by_its_first_difference(disturbed: Topic, text: str) -> None:
    with pytest.raises(Wrong, match=text):
        check_equal(disturbed, PEACE)


def test_a_release_that_comes_twice_is_told_also_across_partitions() -> None:
    with pytest.raises(Wrong, match="partition 1: record 1 repeats"):
        check_no_release_twice({0: PEACE[0], 1: [*PEACE[1], release(b"a")]})


def test_a_second_draw_of_one_release_is_told_also_of_aborted_ones() -> None:
    assert check_one_content({0: [release(b"a"), release(b"a")]}) == 1, "aborted, and came back"
    with pytest.raises(Wrong, match="drawn twice, and differently"):
        check_one_content({0: [release(b"a", b"1"), release(b"a", b"2")]})


def test_what_is_lost_doubled_and_drawn_twice_is_counted_by_name() -> None:
    assert tally(PEACE, PEACE, PEACE) == Tally()
    assert tally({0: PEACE[0][:1], 1: []}, PEACE, PEACE) == Tally(lost=2)
    assert tally({0: [*PEACE[0], *PEACE[0]], 1: PEACE[1]}, PEACE, PEACE) == Tally(doubled=2)
    again = {0: [*PEACE[0], release(b"a"), release(b"b", b"1")], 1: PEACE[1]}
    assert tally(PEACE, PEACE, again) == Tally(drawn_twice=1)
    both = Tally(lost=1) + Tally(lost=1, doubled=2, drawn_twice=3)
    assert both == Tally(lost=2, doubled=2, drawn_twice=3)


def test_each_run_adds_a_row_with_its_faults_by_kind(tmp_path: Path) -> None:
    results = tmp_path / "chaos.csv"
    seen = {"records": 9, "released": 3, "rounds": 3, "came_again": 1, "restarts": 0}
    made = row("kafka", "city", 7, ["scale", "kill", "scale"], Tally(), EQUAL, **seen)
    lost = replace(made, lost=1, outcome="partition 0: 1 records, instead of 2")
    add(made, results)
    add(lost, results)
    with results.open(newline="") as file:
        one, other = csv.DictReader(file)
    assert one == {name: str(value) for name, value in asdict(made).items()}
    assert one["faults"] == "kill 1, scale 2"
    assert (other["lost"], other["outcome"]) == ("1", "partition 0: 1 records, instead of 2")


def test_an_entry_of_the_log_that_comes_twice_or_is_another_one_is_told() -> None:
    check_same_entries(PEACE[0], PEACE[0][::-1])
    for disturbed in ([*PEACE[0], PEACE[0][0]], [PEACE[0][0]], [PEACE[0][0], release(b"b", b"1")]):
        with pytest.raises(Wrong, match="the internal log holds"):
            check_same_entries(disturbed, PEACE[0])


def test_a_tick_counts_once_all_its_figures_are_there_and_the_last_one_with_all_refusals() -> None:
    city = City.of(rounds=1, seed=1)
    fed = len(city.stream.placed)

    def figure(tick: int, group: str) -> Record:
        start = BEGIN + tick * SECOND
        return Record(None, b'{"start": %d, "group": "%b"}' % (start, group.encode()))

    refused: Topic = {0: [release(b"r")] * city.refused}
    last = city.due(fed) - 1
    assert city.done([{0: []}, {0: []}]) == city.due(0) == 0
    assert city.done([{0: [figure(4, ZONES[0])]}, {0: []}]) == 4
    assert city.done([{0: [figure(4, ZONES[-1])]}, {0: []}]) == 5
    assert city.done([{0: [figure(last, ZONES[-1])]}, {0: []}]) < city.due(fed)
    assert city.done([{0: [figure(last, ZONES[-1])]}, refused]) == city.due(fed)


def test_a_seed_draws_the_same_rounds_again() -> None:
    rounds = list(plans(100, ALL, 7, PER_ROUND))
    assert rounds == list(plans(100, ALL, 7, PER_ROUND))
    assert rounds != list(plans(100, ALL, 8, PER_ROUND))
    assert {fault for plan in rounds for _, fault in plan.faults} == set(named().values())
    for plan in rounds:
        ats = [at for at, _ in plan.faults]
        assert len(ats) == FAULTS_PER_ROUND
        assert 0 <= min(ats) <= max(ats) < PER_ROUND
