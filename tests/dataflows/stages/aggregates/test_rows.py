"""Rows of people: who may have one is decided by keys, offsets and timestamps, and nobody keeps one
for ever."""

from dataclasses import replace
from functools import cache
from random import Random

import pytest

from fugu.dataflows.base.ticks import StreamTime
from fugu.dataflows.stages.stage import Admission
from tests.dataflows.stages.aggregates.exact import SECONDS, Aggregate, Message, Placed

MOST = 30


def crowd(people: int, *, most: int = MOST, distinct_keys: int = 2) -> Aggregate:
    ticks = replace(SECONDS, time=StreamTime(distinct_keys))
    return Aggregate(1, ticks, admission=Admission("unchecked", 1, most))


def churn(people: int) -> Placed:
    """Twenty at a time, each for five ticks, and never again."""
    return [
        (0, (f"u{who}", 1_000 * tick + 10 * who % 1_000, "north", 1.0))
        for tick in range(people // 4)
        for who in range(4 * tick, 4 * tick + 20)
    ]


def test_people_who_are_gone_give_their_rows_to_others() -> None:
    """170 of 200 were refused for ever."""
    run = crowd(200)
    figures = run.merged(run.partials(churn(200)))
    assert [reason for *_, reason in run.dead] == ["time_not_begun"]
    assert len(run.tables[0]) <= MOST
    assert {known[0] for tick, known in figures.items() if 1 <= tick <= 45} == {20}


@cache
def busy(seed: int) -> list[Message]:
    random, now, messages = Random(seed), 5_000, []
    for _ in range(600):
        now += random.choice([0, 50, 100])
        who = f"u{(now // 700 + random.randrange(9)) % 40}"
        when = max(0, now + random.choice([0] * 9 + [-700, 2_500, 60_000]))
        messages.append((who, when, random.choice(["north", "west", "nowhere"]), 1.0))
    return messages


@cache
def closed_ticks(seed: int) -> list[int]:
    """Return the last tick that is closed after each record, however many people there may be."""
    unlimited, closed = crowd(0, most=10**6), list[int]()
    for message in busy(seed):
        unlimited.partials([(0, message)])
        closed.append(unlimited.tables[0].clock.get("closed tick", -1))
    return closed


def refused_by_a_plain_model(seed: int, most: int) -> list[int]:
    """Offsets of those who find no place: one record after the other, with a list of people."""
    seen, refused = dict[str, int](), list[int]()
    for offset, (message, closed) in enumerate(zip(busy(seed), closed_ticks(seed), strict=True)):
        who, when, *_ = message
        seen = {one: tick for one, tick in seen.items() if tick > closed}
        tick = when // 1_000
        if not closed < tick <= closed + SECONDS.open + SECONDS.max_jump or closed < 0:
            continue
        if who not in seen and len(seen) >= most:
            refused.append(offset)
        else:
            seen[who] = max(tick, seen.get(who, tick))
    return refused


@pytest.mark.slow
@pytest.mark.parametrize("most", [4, 7])
@pytest.mark.parametrize("at_once", [1, 13, 1_000])
def test_whoever_has_no_record_in_an_open_tick_makes_room(most: int, at_once: int) -> None:
    some = 0
    for seed in range(5):
        messages, run = busy(seed), crowd(0, most=most)
        for start in range(0, len(messages), 50):
            part: Placed = [(0, one) for one in messages[start : start + 50]]
            run.partials(part, at_once=at_once)
            run.restart()
        expected = refused_by_a_plain_model(seed, most)
        full = [offset for _, offset, reason in run.dead if reason == "too_many_keys"]
        valid = [offset for offset in expected if messages[offset][2] != "nowhere"]
        assert full == valid
        some += len(full)
    assert some > 20


def test_a_row_that_is_given_to_another_takes_nothing_along() -> None:
    run = crowd(0, most=2, distinct_keys=1)
    first: Placed = [(0, ("a", 100, "south", 1.0)), (0, ("b", 100, "south", 1.0))]
    then: Placed = [(0, ("b", 1_600, "west", 1.0)), (0, ("c", 1_700, "north", 1.0))]
    late: Placed = [(0, ("a", 1_800, "south", 1.0)), (0, ("b", 9_000, "north", 1.0))]
    figures = run.merged(run.partials([*first, *then, *late]))
    assert figures[0] == [0, 2, 0]
    assert figures[1] == [1, 0, 1]
    assert run.dead == [(0, 4, "too_many_keys")]


def test_contributions_are_held_until_a_later_record_closes_their_tick() -> None:
    run = crowd(10, distinct_keys=1)
    [table] = run.tables
    assert not run.bounding.holds(table)
    run.partials([(0, ("ada", 5_100, "north", 1.0))])
    assert run.bounding.holds(table)
    table.clock["closed tick"] = 5
    assert not run.bounding.holds(table)
