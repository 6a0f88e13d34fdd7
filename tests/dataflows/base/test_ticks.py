"""Stream time and the ticks that it closes, against a plain model that goes record by record."""

from collections.abc import Sequence
from functools import cache
from random import Random

import numpy as np
import pytest

from fugu.dataflows.base.batches import DeadLetters, Decoded
from fugu.dataflows.base.ticks import CLOSED, IN_A_ROW, TIME, Clock, StreamTime, Ticks
from fugu.dataflows.stages.stream_time import Passage, Records
from tests.dataflows.base.plain_ticks import Course, Plain, Seen
from tests.dataflows.stages.arrays import in_arrays
from tests.thinned import first_in_test


def course(
    ticks: Ticks, seen: Seen, at_once: Sequence[int] = (10_000,), *, arrays: bool = False
) -> Course:
    """Return what becomes of records that come in batches of these sizes, in turn.

    A clock is all that is kept between them.
    """
    found: Course = []
    clock: Clock = {}
    at = batch = 0
    while at < len(seen):
        part = seen[at : at + at_once[batch % len(at_once)]]
        at, batch, clock = at + len(part), batch + 1, dict(clock)
        times, keys = [time for time, _ in part], [key for _, key in part]
        values = np.zeros(len(part), dtype=np.int64)
        decoded = Decoded(0, range(len(part)), times, keys, values, None, DeadLetters())
        records = Records.of(in_arrays(decoded) if arrays else decoded, ticks.time.heartbeats)
        for stretch in Passage(ticks, clock, records).stretches():
            dead = DeadLetters()
            records.in_time(ticks, clock, stretch, dead)
            why = dict(zip(dead.offsets, dead.reasons, strict=True))
            passed = stretch.passed
            for index in range(stretch.first, stretch.end):
                first = index == stretch.first
                nothing = range(0), range(0)
                closed, skipped = (passed.closed, passed.skipped) if first else nothing
                found.append((closed, skipped, str(why.get(index, ""))))
    return found


def wandering(seed: int, *, records: int = 400) -> Seen:
    """Time goes on, with wrong clocks, disorder, and a silence now and then."""
    random, now, seen = Random(seed), random_start(seed), []
    keys = [b"%d" % key for key in range(random.choice([1, 2, 5, 12]))]
    for _ in range(records):
        now += random.choice([0, 0, 1, 1, 2, 7]) + random.choice([0] * 80 + [900])
        off = random.choice([0] * 12 + [-9, -40, 5, 30, 500])
        seen.append((max(0, now + off), random.choice(keys)))
    return seen


def random_start(seed: int) -> int:
    return Random(seed).choice([0, 1_000])


@cache
def one_by_one(seed: int, people: int) -> tuple[Plain, Seen, Course]:
    """Return some ticks after a course of records, the records, and what became of each."""
    random = Random(seed)
    ticks = Ticks(
        random.randint(1, 9), random.randint(0, 30), random.randint(1, 5), time=StreamTime(people)
    )
    plain, seen = Plain(ticks), wandering(seed)
    return plain, seen, plain.course(seen)


@pytest.mark.slow
@pytest.mark.parametrize("people", first_in_test([2, 1, 3], 1))
@pytest.mark.parametrize(
    ("at_once", "arrays"), [((10_000,), False), ((1,), False), ((7, 2, 64), True), ((99,), True)]
)
def test_ticks_close_as_if_records_were_looked_at_one_by_one(
    people: int, at_once: Sequence[int], arrays: bool
) -> None:
    reasons, skips, went_back = set(), 0, 0
    for seed in range(60):
        plain, seen, expected = one_by_one(seed, people)
        found = course(plain.ticks, seen, at_once, arrays=arrays)
        assert found == expected
        went_back += plain.went_back
        reasons |= {reason for *_, reason in found}
        skips += sum(bool(skipped) for _, skipped, _ in found)
    assert reasons >= {"", "late", "too_far_ahead"}
    assert ("time_not_begun" in reasons) == (people > 1)
    assert skips > 10
    assert (went_back > 2) == (people == 1)


@pytest.mark.parametrize(("at_once", "arrays"), [((10_000,), False), ((3,), False), ((99,), True)])
def test_heartbeats_move_time_and_nobody_else_does(at_once: Sequence[int], arrays: bool) -> None:
    beats, went_back, agreed = frozenset([b"0", b"3"]), 0, 0
    for seed in range(30):
        ticks = Ticks(5, 7, 3, time=StreamTime(heartbeats=beats))
        seen = wandering(seed)
        plain = Plain(ticks)
        expected = [
            (closed, skipped, "" if key in beats else reason)
            for (closed, skipped, reason), (_, key) in zip(plain.course(seen), seen, strict=True)
        ]
        assert course(ticks, seen, at_once, arrays=arrays) == expected
        went_back, agreed = went_back + plain.went_back, agreed + plain.agreed
    assert went_back > 1
    assert agreed > 5


def everybody(people: int, start: int, ticks: int) -> Seen:
    """One record of each at every tick of 10."""
    return [(start + 10 * tick, b"%d" % who) for tick in range(ticks) for who in range(people)]


TENS = Ticks(width=10, grace=0, max_jump=100)


def refused(found: Course) -> int:
    return sum(reason != "" for *_, reason in found)


def test_one_clock_moves_nothing_however_wrong_and_however_often_it_is_read() -> None:
    steady = everybody(500, 0, 3)
    found = course(TENS, steady)
    for first in (0, 1, 700):
        for wrong in (0, 15, 900, 5_000, 10**12):
            odd = [(wrong + tick, b"odd") for tick in range(200)]
            among = course(TENS, [*steady[:first], *odd, *steady[first:]])
            people = [*among[:first], *among[first + 200 :]]
            assert [one[0] for one in people if one[0]] == [one[0] for one in found if one[0]]
            assert refused(people) <= 2, "those that came before there were three people"


@pytest.mark.parametrize(("people", "lost"), [(1, IN_A_ROW - 1), (3, IN_A_ROW - 1)])
def test_a_partition_recovers_by_itself_from_a_silence(people: int, lost: int) -> None:
    """36,000 of 36,000 records were refused."""
    ticks = Ticks(width=10, grace=0, max_jump=100, time=StreamTime(people))
    before, after = everybody(10, 0, 20), everybody(10, 10**6, 3_600)
    found = course(ticks, before + after)
    assert refused(found[len(before) :]) == lost
    closed = [tick for closed, *_ in found for tick in closed]
    assert closed == [*range(closed[0], 120), *range(10**5 + 1, 10**5 + 3_599)]


def test_a_partition_recovers_by_itself_from_first_records_of_1970() -> None:
    first = [(0, b"%d" % who) for who in range(3)]
    now = everybody(10, 1_763_740_800_000, 3_600)
    assert refused(course(TENS, now)) == 2
    assert refused(course(TENS, [(0, b"old"), *now])[1:]) == 2, "one of them does nothing"
    assert refused(course(TENS, first + now)[3:]) == IN_A_ROW - 1
    alone = Ticks(width=10, grace=0, max_jump=100, time=StreamTime(1))
    assert refused(course(alone, [first[0], *now])) == IN_A_ROW - 1


YEAR = 365 * 86_400_000


@pytest.mark.parametrize(
    ("at_once", "arrays"), [((10_000,), False), ((3, 1), False), ((99,), True)]
)
@pytest.mark.parametrize("wrong", [-YEAR, YEAR])
@pytest.mark.parametrize(("beats", "place"), [(False, 0), (True, 0), (True, 4_000)])
def test_one_wrong_record_poisons_no_partition_where_one_clock_moves_time(
    wrong: int, beats: bool, place: int, at_once: Sequence[int], arrays: bool
) -> None:
    """It left 1, 0 and 1,951 of 4,000 records in time, if it was a year ahead."""
    time = StreamTime(heartbeats=frozenset([b"beat"])) if beats else StreamTime(1)
    ticks = Ticks(width=10_000, grace=1_000, max_jump=100, time=time)
    now, mover = 1_763_740_800_000, b"beat" if beats else b"odd"
    seen = [
        (now + 1_000 * second, key)
        for second in range(4_000)
        for key in (b"beat", b"u%d" % (second % 2))
    ]
    seen.insert(place, (seen[place][0] + wrong, mover))
    found = course(ticks, seen, at_once, arrays=arrays)
    late = [(reason, key) for (*_, reason), (_, key) in zip(found, seen, strict=True) if reason]
    assert len([key for _, key in late if key.startswith(b"u")]) <= (4 if wrong > 0 else 20)


def test_time_begins_anew_only_behind_what_was_closed_before_it_began() -> None:
    """A finished pipeline has told those ticks."""
    ticks = Ticks(width=10, grace=0, max_jump=100, time=StreamTime(1))

    def clock_after(late: int) -> Clock:
        clock: Clock = {CLOSED: 50}
        seen = [10**6, late, late, late]
        records = Records.of(
            Decoded(0, range(4), seen, [b"a"] * 4, np.zeros(4), None, DeadLetters()), frozenset()
        )
        list(Passage(ticks, clock, records).stretches())
        return clock

    assert clock_after(505)[TIME] == 10**6
    again = clock_after(700)
    assert (again[TIME], again[CLOSED]) == (700, 69)
    assert clock_after(515)[CLOSED] == 50


def test_time_never_goes_back_once_a_tick_has_closed() -> None:
    """Send old records after ticks have closed, which must not be told again."""
    ticks = Ticks(width=10, grace=0, max_jump=100, time=StreamTime(1))
    told = [(10**6, b"a"), (10**6 + 11, b"a")]
    old = [(100 + turn, b"b") for turn in range(200)]
    assert {reason for *_, reason in course(ticks, told + old)[2:]} == {"late"}
    closed = [tick for closed, *_ in course(ticks, told[:1] + old[:40]) for tick in closed]
    assert closed == sorted(set(closed))


def test_one_clock_that_stands_still_does_not_keep_a_partition_from_recovering() -> None:
    stuck = [(190, b"0"), (10**6, b"1"), (10**6, b"2"), (10**6, b"3")]
    found = course(TENS, everybody(10, 0, 20) + stuck * 100)
    assert [reason for *_, reason in found[-4:]] == ["late", "", "", ""]
    assert sum(reason == "too_far_ahead" for *_, reason in found) == 5 * IN_A_ROW - 1


def test_one_clock_chooses_neither_where_time_begins_nor_where_it_goes_on() -> None:
    """A first record 100 ticks early closed 104 ticks; one in 20 closed all of a silence."""
    late, now = (0, b"odd"), everybody(5, 1_000, 6)
    assert len([tick for closed, *_ in course(TENS, [late, *now]) for tick in closed]) <= 6
    before, after = everybody(5, 0, 20), everybody(5, 10**6, 40)
    ends = 10 * TENS.last({CLOSED: 18}) + 10
    odd = [record for one in after for record in [(ends, b"odd")] * 18 + [one]]
    closed = [tick for closed, *_ in course(TENS, before + odd) for tick in closed]
    assert len(closed) < 400


def test_where_fewer_people_are_than_move_time_it_does_not_begin_and_that_is_said() -> None:
    found = course(TENS, everybody(2, 0, 50))
    assert {reason for *_, reason in found} == {"time_not_begun"}
    assert not any(closed for closed, *_ in found)


def test_a_clock_keeps_no_more_than_a_few_people() -> None:
    clock: Clock = {}
    seen = everybody(1_000, 0, 3) + everybody(1_000, 10**6, 1)[: IN_A_ROW - 2]
    times, keys = [time for time, _ in seen], [key for _, key in seen]
    columns = range(len(seen)), times, keys, np.zeros(len(seen), dtype=np.int64)
    records = Records.of(Decoded(0, *columns, None, DeadLetters()), frozenset())
    list(Passage(TENS, clock, records).stretches())
    assert len(clock) == 2 + 3 + 5 + 1
