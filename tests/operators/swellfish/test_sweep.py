"""Check that what a sweep remembers never shows: ticks may be asked for in any order."""

from random import Random

import pytest

from fugu.operators.swellfish.calendar import DAY
from fugu.operators.swellfish.policy import Admitted, Occurrence, Pattern, Policy, affected_ticks
from fugu.operators.swellfish.relevance import Interval, Query, Relevance
from fugu.operators.swellfish.sweep import CollectionSweep
from tests.operators.swellfish.test_bounds import random_policy
from tests.operators.swellfish.test_zone import random_zone
from tests.operators.swellfish.zones import once

QUERY = Query("sum", 30)


def asked_for(admitted: tuple[Admitted, ...], tick: int, milliseconds: int) -> Relevance:
    """By the formulas, one occurrence after the other."""

    def overlapping(start: int, end: int) -> list[Occurrence]:
        return [found for one in admitted for found in one.overlapping(start, end, milliseconds)]

    found = overlapping(tick, tick)
    intervals = [
        Interval(*span, affected_ticks(*span, overlapping(*span)))
        for span in sorted({(one.start, one.end) for one in found})
    ]
    return Relevance(QUERY.sensitivity([one.change_at(tick) for one in found]), tuple(intervals))


@pytest.mark.parametrize("seed", range(20))
def test_ticks_in_any_order_get_what_their_occurrences_ask_for(seed: int) -> None:
    random = Random(seed)
    zone = random_zone(random, apart=2 * DAY)
    milliseconds = random.choice([3_600_000, 600_000])
    admitted = tuple(random_policy(random, zone) for _ in range(random.randrange(1, 9)))
    sweep = CollectionSweep(admitted, QUERY, milliseconds, number=seed)
    day = DAY * 1000 // milliseconds
    ticks = [*range(-day, 2 * day), *(random.randrange(-9 * day, 99 * day) for _ in range(200))]
    stretches = [sweep(tick) for tick in ticks]
    for tick, stretch in zip(ticks, stretches, strict=True):
        assert stretch.first <= tick <= stretch.last
        for one in (stretch.first, tick, stretch.last):
            assert stretch.value == asked_for(admitted, one, milliseconds)
    assert len({stretch.value.sensitivity for stretch in stretches}) > 1


@pytest.mark.parametrize("seed", range(200))
def test_a_pattern_changes_ticks_as_an_occurrence_does(seed: int) -> None:
    random = Random(seed)
    ticks, length = random.randrange(1, 15), random.randrange(1, 9)
    thresholds = [random.randrange(6) for _ in range(random.choice([1, length]))]
    policy: Policy = once("any", 0, ticks - 1, length, *thresholds)
    pattern, occurrence = Pattern.of(policy, ticks), policy.occurrence(0, ticks - 1)
    for tick in range(ticks):
        change, after = occurrence.change_at(tick), ticks - 1 - tick
        assert pattern.change(tick, after) == change
        before_too, after_too = pattern.alike(tick, after)
        for other in range(max(0, tick - before_too), min(ticks - 1, tick + after_too) + 1):
            assert occurrence.change_at(other) == change
