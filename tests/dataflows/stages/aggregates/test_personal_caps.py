"""Under a personal cap few ticks of a person count, whatever order, batches, restarts or moves."""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from fugu.dataflows.base.ticks import StreamTime
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.stages.summing import COUNTED
from fugu.operators.personal_cap import PersonalCap
from tests.dataflows.stages.aggregates.exact import (
    GROUPS,
    SECONDS,
    Aggregate,
    Figures,
    Message,
    differences,
)
from tests.dataflows.stages.aggregates.test_moved_people import Moving

CLOCK = "clock"
"""Moves time, and counts nothing."""


def capped(cap: PersonalCap | None, most_keys: int = 1_000, **options: Any) -> Aggregate:
    ticks = replace(SECONDS, time=StreamTime(1), max_jump=100)
    admission = Admission("unchecked", 1, most_keys)
    return Aggregate(1, ticks, admission=admission, cap=cap, **options)


def minutes(who: str, ticks: list[int], where: str = "north") -> list[Message]:
    return [(who, 1_000 * tick + 500, where, 1.0) for tick in ticks]


def after(messages: list[Message]) -> list[Message]:
    """All of them, and time that goes on behind each."""
    last = max(when for _, when, _, _ in messages)
    return [*messages, *minutes(CLOCK, [last // 1_000 + later for later in (1, 2, 3)], "nowhere")]


def figures(run: Aggregate, messages: list[Message], **options: Any) -> Figures:
    return run.merged(run.partials([(0, one) for one in messages], **options))


def counted(figures: Figures) -> list[int]:
    return [tick for tick, known in figures.items() if any(known)]


def test_the_earliest_ticks_of_each_period_count() -> None:
    run = capped(PersonalCap(2, 10))
    messages = after(minutes("a", [1, 2, 3, 9, 10, 11, 12, 25]))
    assert counted(figures(run, messages)) == [1, 2, 10, 11, 25]


def test_nobody_is_told_who_did_not_count() -> None:
    """No dead letter, and no tick less: the same people without a cap have the same of both."""
    messages = after(minutes("a", list(range(1, 30))))
    with_cap, without = capped(PersonalCap(2, 10)), capped(None)
    cut, all_of_them = figures(with_cap, messages), figures(without, messages)
    assert cut.keys() == all_of_them.keys()
    assert with_cap.dead == without.dead


def test_records_that_come_in_another_order_count_in_the_same_ticks() -> None:
    """Whoever is ahead uses nothing up before time has come there."""
    begin = minutes(CLOCK, [0, 1], "nowhere")
    two = [("a", 2_900, "north", 1.0), ("a", 3_100, "north", 1.0)]
    for order in (two, two[::-1]):
        run = capped(PersonalCap(1, 10))
        assert counted(figures(run, after([*begin, *order]))) == [2]
        assert "late" not in [reason for *_, reason in run.dead]


def test_copies_and_corrections_of_an_open_tick_are_charged_once() -> None:
    run = capped(PersonalCap(2, 10))
    messages = [
        *minutes(CLOCK, [0, 1], "nowhere"),
        *minutes("a", [2, 2, 2]),
        *minutes("a", [2], "south"),
        *minutes("a", [4, 6]),
    ]
    found = figures(run, after(messages))
    assert counted(found) == [2, 4]
    assert found[2] == [0, 1, 0]


def test_a_contribution_of_zero_uses_nothing_up() -> None:
    run = capped(PersonalCap(1, 10), sums=True)
    messages: list[Message] = [*minutes(CLOCK, [0, 1], "nowhere"), ("a", 2_500, "north", 0.0)]
    found = figures(run, after([*messages, ("a", 4_500, "north", 2.0)]))
    assert counted(found) == [4]


def world(seed: int, people: int = 12) -> list[Message]:
    """Records out of order, by clocks that are wrong now and then, and a silence."""
    random, now, messages = Random(seed), 5_000, []
    for _ in range(500):
        now += random.choice([0, 50, 150, 400]) + random.choice([0] * 200 + [160_000])
        when = max(0, now + random.choice([0] * 15 + [-1_500, 900, 8_000, 10**7]))
        messages.append((f"u{random.randrange(people)}", when, random.choice(GROUPS), 1.0))
    return messages


@pytest.mark.parametrize("most_keys", [5, 1_000])
@pytest.mark.parametrize("cap", [PersonalCap(3, 20), PersonalCap(3, 20, "rising", apart=2)])
def test_batches_and_restarts_do_not_show(cap: PersonalCap, most_keys: int) -> None:
    messages = world(1)
    whole = capped(cap, most_keys)
    expected = figures(whole, messages)
    pieces = capped(cap, most_keys)
    partials = []
    for one in range(0, len(messages), 7):
        partials += pieces.partials(
            [(0, message) for message in messages[one : one + 7]], at_once=3
        )
        pieces.restart()
    assert pieces.merged(partials, restarting=True) == expected
    assert pieces.dead == whole.dead


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cap", "most_keys"),
    [(PersonalCap(1, 20), 5), (PersonalCap(3, 20), 1_000), (PersonalCap(2, 7, "rising"), 5)],
)
def test_what_one_person_says_changes_a_period_by_twice_the_cap_and_nothing_about_others(
    cap: PersonalCap, most_keys: int
) -> None:
    """Theorem 1 on the real stage: contributions of one person that are others, none, or refused,
    with rows that are given to others as soon as they may be."""
    largest = 0
    for seed in range(2):
        messages = world(seed)
        runs = [
            (figures(run, [_said(one, place, where) for place, one in enumerate(messages)]), run)
            for where in (None, "west", "nowhere", "now and then")
            for run in [capped(cap, most_keys)]
        ]
        others = {place for place, (who, *_) in enumerate(messages) if who != "u0"}
        for found, run in runs[1:]:
            periods: Counter[int] = Counter()
            for tick, change in differences(runs[0][0], found).items():
                periods[cap.period_of(tick)] += int((change**2).sum())
            largest = max(largest, *periods.values())
            assert [one for one in run.dead if one[1] in others] == [
                one for one in runs[0][1].dead if one[1] in others
            ]
    assert largest <= cap.factor * cap.counted
    assert largest >= 2


def _said(message: Message, place: int, where: str | None) -> Message:
    who, when, _, amount = message
    if who != "u0" or where is None:
        return message
    if where == "now and then":
        return who, when, "south" if place % 2 else "nowhere", amount
    return who, when, where, amount


def test_a_row_is_kept_until_the_period_of_its_last_record_is_over() -> None:
    """Else whoever makes room for somebody else would count anew, as often as they like."""
    run = capped(PersonalCap(1, 10), most_keys=2)
    messages = minutes(CLOCK, [0, 1], "nowhere") + minutes("a", [2])
    for tick in range(3, 9):
        messages += minutes(f"u{tick}", [tick]) + minutes("a", [tick])
    found = figures(run, after(messages + minutes(CLOCK, [10, 11], "nowhere") + minutes("b", [12])))
    assert counted(found) == [2, 12]
    assert [reason for *_, reason in run.dead].count("too_many_keys") == 6


def test_whether_a_row_is_kept_does_not_depend_on_what_its_records_hold() -> None:
    for group in ("north", "nowhere"):
        run = capped(PersonalCap(1, 10), most_keys=2)
        messages = minutes(CLOCK, [0, 1], "nowhere") + minutes("a", [2], group)
        messages += minutes(CLOCK, [3, 4, 5], "nowhere") + minutes("b", [6])
        figures(run, after(messages))
        assert [reason for *_, reason in run.dead].count("too_many_keys") == 1


@pytest.mark.parametrize("other", ["nowhere", "west"])
def test_how_much_is_written_does_not_tell_how_many_have_counted(other: str) -> None:
    """What one person says changes nothing of it; it had been the number of contributions."""
    written = []
    for group in ("north", other):
        run, rows = capped(PersonalCap(2, 100)), []
        for tick in range(4):
            messages = [*minutes("a", [tick], group), *minutes("b", [tick]), *minutes("c", [tick])]
            run.partials([(0, one) for one in messages])
            run.tables[0].take_changes()
            before = run.tables[0].rows_taken
            run.partials([(0, one) for one in minutes(CLOCK, [tick + 1], "nowhere")])
            run.tables[0].take_changes()
            rows.append(run.tables[0].rows_taken - before)
        written.append(rows)
    assert written[0] == written[1]
    assert max(written[0]) >= 3


def test_rows_run_out_where_nearly_all_are_of_people_who_are_remembered() -> None:
    run = capped(PersonalCap(1, 10), most_keys=10)
    table, crowded = run.tables[0], []
    for tick in range(1, 12):
        run.partials([(0, one) for one in minutes(CLOCK, [tick]) + minutes(f"u{tick}", [tick])])
        crowded.append(run.bounding.is_crowded(table))
    assert crowded == [False] * 7 + [True] * 2 + [False] * 2


def test_time_that_begins_anew_does_not_let_anybody_count_again() -> None:
    run = capped(PersonalCap(1, 1_000), most_keys=3)
    table = run.tables[0]
    figures(run, after(minutes(CLOCK, [0, 1], "nowhere") + minutes("a", [2])))
    rows = table.row_of(b"a")
    before = int(table.live(COUNTED)[rows])
    run.bounding._forget(table)
    assert int(table.live(COUNTED)[rows]) == before
    assert run.bounding._in_use(table).all()


def test_what_is_remembered_of_a_person_is_eight_bytes() -> None:
    run, plain = capped(PersonalCap(2, 10)), capped(None)
    assert run.tables[0].bytes_per_row - plain.tables[0].bytes_per_row == 8


@pytest.mark.parametrize("at_once", [1, 9])
def test_people_who_move_to_added_partitions_keep_their_cap(at_once: int) -> None:
    """The source is extended twice within a period: no person counts in more ticks than before."""
    random, cap = Random(at_once), PersonalCap(2, 1_000)
    ticks = replace(SECONDS, time=StreamTime(1))
    run = Moving(2, ticks, admission=Admission("murmur2", 2, 1_000), cap=cap)
    run.begin()
    people, now = 12, 5_000
    for partitions in (2, 3, 5):
        if partitions > run.partitions:
            run.extend(partitions, twice=partitions == 5)
        for _ in range(25):
            now += 1_000
            everybody = [(f"u{n}", now, random.choice(GROUPS), 1.0) for n in range(people)]
            run.send(everybody, at_once=at_once)
    found = run.figures(restarting=True)
    total = int(np.sum(list(found.values())))
    assert total == cap.at_most * people
