"""Bound from above what policies cost, by their calendars; the bound is near."""

from datetime import date, timedelta
from random import Random

import numpy as np
import pytest

from fugu.operators.swellfish.calendar import Calendar
from fugu.operators.swellfish.cost import asked_for, cost, stretches
from fugu.operators.swellfish.expansion import expanded
from fugu.operators.swellfish.occurrences import Admitted
from fugu.operators.swellfish.policy import Collection, Policy
from fugu.operators.swellfish.temporal_sensitivity import Query
from fugu.operators.swellfish.timeline import Policies
from tests.operators.swellfish.zones import BERLIN, GREENWICH, HOUR, HOURLY, once

QUERIES = [
    Query("sum", 12),
    Query("count", 1),
    Query("histogram", 2),
    Query("multi_histogram", 3, ("bath", "bed", "hall", "sauna")),
]


def random_policies(random: Random) -> tuple[Policy, ...]:
    policies = []
    for number in range(random.randrange(1, 6)):
        start, ticks = random.randrange(200), random.randrange(1, 30)
        length = random.randrange(1, min(ticks, 5) + 1)
        thresholds = [random.randrange(9) for _ in range(random.choice([1, length]))]
        policies.append(once(f"p{number}", start, start + ticks - 1, length, *thresholds))
    return tuple(policies)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: str(query.kind))
def test_no_tick_asks_for_more_than_the_cost(query: Query) -> None:
    """All ticks are looked at, by the timeline that strategies see."""
    random, ratios = Random(5), []
    for _ in range(60):
        policies = random_policies(random)
        timeline = Policies(HOURLY, query, (Collection("home", policies),))
        asked = [timeline.relevance(tick, b"") for tick in range(240)]
        most = max(
            one.sensitivity * max((interval.affected for interval in one.intervals), default=0)
            for one in asked
        )
        bound = asked_for(expanded([Admitted(one) for one in policies], 0, 240, HOURLY), query)
        assert most <= bound
        ratios.append(most / max(bound, 1))
    assert np.mean(ratios) > 0.7


def test_policies_that_do_not_overlap_cost_what_the_dearest_one_asks() -> None:
    apart = [Admitted(once("long", 0, 9, 4, 5)), Admitted(once("high", 20, 22, 2, 9))]
    assert asked_for(expanded(apart, 0, 30, HOURLY), Query("sum", 100)) == 20
    assert asked_for(expanded(apart, 0, 30, HOURLY), Query("sum", 3)) == 12
    assert asked_for(expanded(apart, 10, 30, HOURLY), Query("sum", 100)) == 18
    assert asked_for(expanded([], 0, 30, HOURLY), Query("sum", 100)) == 0


def mornings(name: str, first: date | None) -> Admitted:
    return Admitted(Policy(name, Calendar(BERLIN, (0,), 6 * HOUR, 9 * HOUR, first), 2, (5,)))


def test_a_year_is_looked_at_from_every_first_interval_on() -> None:
    now = (date(2026, 1, 1) - date(1970, 1, 1)).days * 24
    later = date(2031, 6, 2)
    [near, far] = stretches([mornings("tea", None), mornings("bath", later)], now, HOURLY)
    assert now <= near[0] + 8 * 24 < near[0] + 366 * 24 <= near[1]
    begin = (later - date(1970, 1, 1)).days * 24
    assert far[0] <= begin < begin + 366 * 24 <= far[1]
    assert stretches([mornings("tea", None)], now, HOURLY) == [near]


def test_what_begins_years_from_now_counts_together_with_what_goes_on_until_then() -> None:
    now, query = (date(2026, 1, 1) - date(1970, 1, 1)).days * 24, Query("sum", 100)
    later = date(2031, 6, 2)
    both = [mornings("tea", None), mornings("bath", later)]
    assert cost(both, query, stretches(both, now, HOURLY), HOURLY) == 10 * 3
    alone = both[:1]
    assert cost(alone, query, stretches(alone, now, HOURLY), HOURLY) == 5 * 2


def test_what_is_over_is_not_looked_at() -> None:
    over = Calendar(GREENWICH, (0,), 0, HOUR, None, date(1970, 1, 1) + timedelta(days=60))
    assert stretches([Admitted(Policy("old", over, 1, (5,)))], 100_000, HOURLY) == []
