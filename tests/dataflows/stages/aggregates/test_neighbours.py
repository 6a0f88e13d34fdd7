"""Decide nothing about others by one person's contribution: not when ticks close, whose records are
late, and who is admitted, be it another contribution or one that is refused."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from fugu.dataflows.base.ticks import StreamTime
from fugu.dataflows.stages.log_entries import PartialSums
from fugu.dataflows.stages.stage import Admission
from tests.dataflows.stages.aggregates.exact import GROUPS, SECONDS, Aggregate, Message, differences
from tests.thinned import first_in_test

REFUSED = "nowhere"
VICTIM = "u0"
PEOPLE = 12


def world(seed: int) -> list[Message]:
    """Records out of order, by clocks that are wrong now and then, and a silence."""
    random, now, messages = Random(seed), 5_000, []
    for _ in range(400):
        now += random.choice([0, 50, 150]) + random.choice([0] * 200 + [60_000])
        when = max(0, now + random.choice([0] * 15 + [-1_500, 900, 8_000, 10**7]))
        messages.append((f"u{random.randrange(PEOPLE)}", when, random.choice(GROUPS), 1.0))
    return messages


def replaced(messages: list[Message], where: str) -> list[Message]:
    """The same, but for what the victim contributes; a third of it is refused."""
    return [
        (who, when, REFUSED if place % 3 == 0 and where != REFUSED else where, amount)
        if who == VICTIM
        else (who, when, group, amount)
        for place, (who, when, group, amount) in enumerate(messages)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("people", "most_keys"),
    first_in_test([(1, 5), (2, 1_000), (3, 5), (1, 1_000), (2, 5), (3, 1_000)], 3),
)
def test_another_contribution_or_none_changes_ticks_by_two_and_nothing_about_others(
    people: int, most_keys: int
) -> None:
    largest = 0
    for seed in range(12):
        messages = world(seed)
        runs = []
        for records in (messages, replaced(messages, "west"), replaced(messages, REFUSED)):
            ticks = replace(SECONDS, time=StreamTime(people))
            admission = Admission("unchecked", 1, most_keys)
            run = Aggregate(1, ticks, admission=admission)
            runs.append((run.merged(run.partials([(0, one) for one in records])), run))
        others = {number for number, (who, *_) in enumerate(messages) if who != VICTIM}
        for figures, run in runs[1:]:
            changes = differences(runs[0][0], figures)
            assert all(np.abs(change).sum() <= 2 for change in changes.values())
            largest = max(largest, *(int(np.abs(change).sum()) for change in changes.values()))
            assert [one for one in run.dead if one[1] in others] == [
                one for one in runs[0][1].dead if one[1] in others
            ]
    assert largest == 2


def test_a_refused_record_moves_time_as_any_other_does() -> None:
    """Tick 0 changed by 50 where 2 was claimed."""
    crowd = [(f"u{n}", 100, "north", 1.0) for n in range(1, 51)]
    late = [(f"u{n}", 150, "north", 1.0) for n in range(51, 101)]

    def figures(where: str) -> list[int]:
        run = Aggregate(1)
        placed = [*crowd, (VICTIM, 5_000, where, 1.0), *late, ("u1", 9_000, "north", 1.0)]
        return run.merged(run.partials([(0, one) for one in placed]))[0]

    assert figures("south") == figures(REFUSED) == [50, 0, 0]


@pytest.mark.parametrize("at_once", [1, 1_000])
def test_where_one_clock_moves_time_a_first_one_that_is_wrong_is_forgotten(at_once: int) -> None:
    """All that was contributed by its time is dropped, of which no tick was told."""
    steady = [(f"u{n % 9}", 400 * n, "north", 1.0) for n in range(400)]
    wrong = [("odd", 10**9, "south", 1.0), ("u3", 10**9 + 400, "west", 1.0)]
    plain, run = Aggregate(1), Aggregate(1)
    expected = plain.merged(plain.partials([(0, one) for one in steady[2:]], at_once=at_once))
    found = run.merged(run.partials([(0, one) for one in wrong + steady], at_once=at_once))
    assert found == expected
    assert run.dead == [(0, 2, "late"), (0, 3, "late")]
    assert not (run.tables[0].live("seen") > 1_000).any()


def test_one_device_closes_ticks_for_nobody() -> None:
    """Five records of one device made 499 others late, and jumps burnt every value of a horizon."""
    everybody = [(f"u{n}", 100, "north", 1.0) for n in range(500)]
    ahead = [("u0", 1_000 * jump, "south", 1.0) for jump in (30, 60, 90, 10_000, 10**9)]
    run = Aggregate(1, replace(SECONDS, time=StreamTime(3)))
    partials = run.partials([(0, one) for one in [*everybody[:3], *ahead, *everybody[3:]]])
    assert partials == []
    assert {offset for _, offset, _ in run.dead} - {0, 1} <= {3, 4, 5, 6, 7}
    tables = run.tables[0].live("tick")
    assert int((tables == 0).sum()) == 498


def test_who_is_ahead_of_stream_time_counts_when_it_comes_there() -> None:
    run = Aggregate(1, replace(SECONDS, time=StreamTime(2)))
    placed = [("a", 100, "north", 1.0), ("b", 200, "north", 1.0), ("a", 9_100, "west", 1.0)]
    placed += [("a", 9_200, "south", 1.0), ("a", 11_000, "south", 1.0), ("b", 12_000, "north", 1.0)]
    placed += [("c", 12_100, "north", 1.0)]
    figures = run.merged(run.partials([(0, one) for one in placed]))
    assert {tick: known for tick, known in figures.items() if any(known)} == {
        0: [1, 0, 0],
        9: [0, 1, 0],
    }
    assert run.dead == [(0, 0, "time_not_begun"), (0, 4, "too_far_ahead")]


@pytest.mark.parametrize("later", [5, 20, 98])
def test_one_contribution_decides_nothing_about_another_one_of_the_same_person(later: int) -> None:
    """Give whoever is ahead one place: for the first such tick, whether its value counts or not."""
    everybody = [(who, 1_000 + at, "north", 1.0) for at in range(3) for who in "bcd"]
    closing = [(who, 120_000, "north", 1.0) for who in "bcd"] * 10
    found = []
    for group in ("west", REFUSED):
        run = Aggregate(1, replace(SECONDS, max_jump=100, time=StreamTime(3)))
        odd = [("a", 5_000, group, 1.0), ("a", 5_000 + 1_000 * later, "south", 1.0)]
        going_on = [(who, 1_000 * tick, "north", 1.0) for tick in range(2, 110) for who in "bcd"]
        placed = [(0, one) for one in [*everybody, *odd, *going_on, *closing]]
        found.append(run.merged(run.partials(placed)))
    assert [tick for tick, moved in differences(*found).items() if moved.any()] == [5]


def test_ticks_of_a_silence_that_every_partition_skips_are_not_released() -> None:
    run = Aggregate(2)
    early = [(where, (f"u{where}", 1_000 * n, "north", 1.0)) for n in range(5) for where in (0, 1)]
    late = 10**8
    after = [
        (where, (f"u{where}", late + 1_000 * n, "south", 1.0))
        for n in range(30)
        for where in (0, 1)
    ]
    partials = run.partials([*early, *after])
    figures = run.merged(partials)
    assert len(figures) < 5 + 31 + 1 + 30
    assert figures[3] == [2, 0, 0]
    assert figures[late // 1_000 + 25] == [0, 2, 0]
    assert not any(known[0] for tick, known in figures.items() if tick > 40)
    assert run.merged(partials, restarting=True) == figures
    queues = [[one for one in partials if one.partition == p] for p in (1, 0)]
    assert run.merged([*queues[0], *queues[1]]) == figures


def test_a_tick_that_one_partition_skips_and_another_does_not_is_released() -> None:
    run = Aggregate(2)
    nothing, one = np.zeros(0, dtype=np.int64), np.ones(1, dtype=np.int64)
    skipping = [
        PartialSums(0, 0, nothing, nothing),
        PartialSums(0, 900, nothing, nothing, skipped=899),
    ]
    steady = [PartialSums(1, tick, np.array([2]), one) for tick in range(4)]
    steady += [PartialSums(1, 900, nothing, nothing, skipped=896)]
    figures = run.merged([*skipping, *steady], restarting=True)
    assert figures == {tick: [0, 0, 1] for tick in range(4)} | {900: [0, 0, 0]}
    swapped = [steady[0], *steady[:0:-1], *skipping]
    assert run.merged(swapped, restarting=True) == figures
