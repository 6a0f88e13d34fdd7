"""Changes beyond the limits of a collection are refused with what they would cost."""

from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, timedelta
from random import Random

import numpy as np
import pytest

from fugu.operators.swellfish.bounds import asked_for, cost, expanded, stretches, usual
from fugu.operators.swellfish.calendar import DAY, Calendar, Once, When, Zone
from fugu.operators.swellfish.changes import (
    LARGEST_CHANGES,
    LARGEST_OF_COLLECTION,
    MOST_MADE,
    OF_EACH_COLLECTION,
    Change,
    MovedKeys,
    NewCollection,
    Standing,
    encoded,
)
from fugu.operators.swellfish.decisions import MOST_MADE_BY_STRANGERS
from fugu.operators.swellfish.policy import (
    FOR_EVER,
    SINCE_EVER,
    Admitted,
    Collection,
    Limits,
    Noise,
    Policy,
)
from fugu.operators.swellfish.relevance import Query
from fugu.operators.swellfish.timeline import Policies
from tests.operators.swellfish.test_zone import random_zone
from tests.operators.swellfish.zones import BERLIN, GREENWICH, HOUR, HOURLY, once

TEA = once("tea", 10, 12, 2, 5)
HOME, SHOP = Collection("home", (TEA,)), Collection("shop", ())


def town(limits: Limits, *collections: Collection) -> Policies:
    query = Query("sum", 1_000)
    noise = Noise(0.5, "kW")
    return Policies(HOURLY, query, collections or (HOME, SHOP), limits=limits, noise=noise)


def adds(policy: Policy, collection: str = "home") -> bytes:
    return Change(collection, 0, policy.id, policy).to_bytes()


def test_more_noise_than_a_collection_may_cause_is_refused_in_its_unit() -> None:
    limited = town(Limits(demand=40))
    cheap, dear = once("bath", 20, 29, 4, 10), once("bath", 20, 29, 4, 11)
    assert limited.changed(b"", adds(cheap), 0)
    says = (
        r"^policy bath: limits.noise: would make noise of 22 kW where the collection may cause "
        r"20 kW; make"
    )
    for refused in (limited.changed, limited.explained):
        with pytest.raises(ValueError, match=says):
            refused(b"", adds(dear), 0)


def test_what_overlaps_costs_more_than_each_by_itself() -> None:
    limited = town(Limits(demand=30))
    apart, together = once("bath", 20, 22, 2, 6), once("bath", 11, 13, 2, 6)
    assert limited.changed(b"", adds(apart), 0)
    with pytest.raises(ValueError, match=r"noise of 16.5 kW where the collection may cause 15 kW"):
        limited.changed(b"", adds(together), 0)


def test_a_change_adds_no_more_than_one_change_may() -> None:
    limited = town(Limits(demand=100, added=20))
    step = limited.changed(b"", adds(once("bath", 20, 29, 4, 7)), 0)
    assert limited.changed(step, adds(once("bath", 20, 29, 4, 12)), 0)
    with pytest.raises(ValueError, match=r"limits.added: would add 15 kW .* may add 10 kW"):
        limited.changed(b"", adds(once("bath", 20, 29, 4, 10)), 0)


def test_a_collection_that_is_beyond_its_limits_may_still_come_down() -> None:
    rich = town(Limits(demand=5, interval=9))
    assert rich.changed(b"", adds(once("tea", 10, 12, 1, 5)), 0)
    assert rich.changed(b"", Change("home", 0, "tea", None).to_bytes(), 0)
    assert rich.changed(b"", adds(once("bath", 40, 42, 1, 5)), 0)
    with pytest.raises(ValueError, match=r"limits\.noise"):
        rich.changed(b"", adds(once("bath", 10, 12, 1, 5)), 0)


def test_intervals_are_no_longer_than_the_limit_and_the_guarantee_knows_it() -> None:
    limited = town(Limits(interval=48))
    assert limited.longest == 48
    assert limited.changed(b"", adds(once("trip", 100, 147)), 0)
    with pytest.raises(ValueError, match=r"limits.interval: has intervals of up to 49 ticks where"):
        limited.changed(b"", adds(once("trip", 100, 148)), 0)
    made = NewCollection("barn", 0, (once("trip", 100, 148),))
    with pytest.raises(ValueError, match=r"^collection barn: limits.interval: "):
        limited.changed(b"", made.to_bytes(), 0)
    assert town(Limits(interval=2)).longest == 3, "configured ones may be longer"


def test_no_more_policies_count_at_once_than_the_limit() -> None:
    limited = town(Limits(policies=2))
    two = limited.changed(b"", adds(once("bath", 20, 22)), 0)
    with pytest.raises(ValueError, match=r"limits\.policies: 3 policies would count where 2 are"):
        limited.changed(two, adds(once("nap", 30, 32)), 0)
    assert limited.changed(two, adds(once("bath", 24, 26)), 0)
    gone = limited.changed(two, Change("home", 0, "tea", None).to_bytes(), 0)
    assert limited.changed(gone, adds(once("nap", 30, 32)), 1)


def test_a_collection_may_have_limits_of_its_own() -> None:
    limited = town(Limits(demand=10), HOME, replace(SHOP, limits=Limits(demand=400)))
    bath = once("bath", 20, 29, 4, 100)
    assert limited.changed(b"", adds(bath, "shop"), 0)
    with pytest.raises(ValueError, match=r"limits\.noise"):
        limited.changed(b"", adds(bath), 0)


def test_strangers_fill_half_of_what_an_owned_collection_may_have() -> None:
    owned = replace(SHOP, owned=True)
    limited = town(Limits(demand=80, policies=4), HOME, owned)
    bath, nap = once("bath", 20, 29, 4, 10), once("nap", 20, 29, 4, 11)
    assert limited.changed(b"", adds(bath, "shop"), 0)
    with pytest.raises(ValueError, match="22 kW where the collection may cause 20 kW"):
        limited.changed(b"", adds(nap, "shop"), 0)
    by_owner = Change("shop", 0, "nap", nap, owner=True, sequence=1).to_bytes()
    assert limited.changed(b"", by_owner, 0)
    changes = b""
    for number in range(2):
        changes = limited.changed(changes, adds(once(f"x{number}", 50, 51, 1, 0), "shop"), 0)
    with pytest.raises(ValueError, match="3 policies would count where 2 are the most"):
        limited.changed(changes, adds(once("more", 50, 51, 1, 0), "shop"), 0)
    assert limited.changed(changes, by_owner, 0)


def test_policies_that_begin_in_too_many_years_are_refused() -> None:
    def daily(year: int) -> Policy:
        first = date(1971, 1, 1) + timedelta(days=400 * year)
        when = Calendar(GREENWICH, tuple(range(7)), 0, HOUR, first)
        return Policy(f"from-{year}", when, 1, (1,))

    shop = Collection("shop", tuple(daily(year) for year in range(60)))
    limited = town(Limits(demand=10**6), shop)
    with pytest.raises(ValueError, match="begin in so many different years"):
        limited.changed(b"", adds(daily(60), "shop"), 0)
    assert limited.changed(b"", adds(daily(60), "shop"), 24 * 400 * 40)


def test_where_nothing_is_declared_a_collection_may_ask_for_twice_as_much_or_a_day() -> None:
    query = Query("sum", 10)
    assert usual([[TEA]], query, HOURLY) == Limits(demand=240, interval=24, policies=100)
    trip = once("trip", 0, 99, 50, 10)
    assert usual([[TEA, trip]], query, HOURLY) == Limits(demand=1_040, interval=100, policies=100)


def test_limits_that_are_declared_are_part_of_the_law() -> None:
    some, others = town(Limits(demand=10)), town(Limits(demand=11))
    own = town(Limits(), replace(HOME, limits=Limits(demand=10)), SHOP)
    digests = {one.digest() for one in (some, others, own, town(Limits()))}
    assert len(digests) == 4


def long_name(bytes_: int) -> Policy:
    return once("x" * bytes_, 20, 22)


def test_one_collection_does_not_take_the_room_of_others() -> None:
    """Strangers fill collections until nothing more is taken; a policy of another one still is."""
    many = LARGEST_CHANGES // LARGEST_OF_COLLECTION + 2
    collections = [Collection(f"stranger-{number}", ()) for number in range(many)]
    everybody, changes, refused = town(Limits(), *collections, HOME), b"", 0
    for collection in collections:
        with pytest.raises(ValueError, match=f"changes of collection {collection.id} would take"):
            everybody.changed(changes, adds(long_name(LARGEST_OF_COLLECTION), collection.id), 0)
        try:
            change = adds(long_name(LARGEST_OF_COLLECTION - 500), collection.id)
            changes = everybody.changed(changes, change, 0)
        except ValueError:
            refused += 1
    assert refused
    left = LARGEST_CHANGES - len(changes)
    assert 1_000 < left < LARGEST_OF_COLLECTION
    full = everybody.changed(changes, adds(long_name(left - 500), collections[-1].id), 0)
    assert everybody.changed(full, adds(long_name(OF_EACH_COLLECTION - 500)), 0)
    with pytest.raises(ValueError, match="home may take 4,096 then; remove policies"):
        everybody.changed(full, adds(long_name(OF_EACH_COLLECTION)), 0)
    made = NewCollection("made", 0, (long_name(1_000),))
    with pytest.raises(ValueError, match="collection made may take 0 then"):
        everybody.changed(full, made.to_bytes(), 0)


def test_a_change_without_room_is_never_said_to_count() -> None:
    with pytest.raises(ValueError, match="changes of collection home would take"):
        town(Limits()).explained(b"", adds(long_name(LARGEST_OF_COLLECTION)), 0)


def test_changes_make_a_thousand_collections_and_no_more() -> None:
    standings = {f"made-{number}": Standing(made=True) for number in range(MOST_MADE)}
    full = encoded(standings)
    limited = town(Limits())
    assert limited.changed(full, adds(once("bath", 20, 22)), 0)
    with pytest.raises(ValueError, match="more than 1,000 collections would be made by changes"):
        limited.changed(full, NewCollection("one-more", 0, (), owner=True).to_bytes(), 0)


def test_how_collections_stand_is_the_same_whether_remembered_or_read() -> None:
    """Whatever was changed, removed, replaced, made and moved."""
    random, changes, now = Random(4), b"", 0
    remembering = town(Limits())
    for step in range(150):
        now += random.randrange(3)
        policy = once(f"p{random.randrange(4)}", now + random.randrange(9), now + 12)
        told = random.choice(
            [
                Change(random.choice(["home", "shop"]), now, policy.id, policy),
                Change(random.choice(["home", "shop"]), now, policy.id, None),
                NewCollection(f"made-{random.randrange(9)}", now, (policy,)),
                MovedKeys(random.choice(["home", "shop"]), now, (f"key-{step}",)),
            ]
        )
        with suppress(ValueError):
            changes = remembering.changed(changes, told.to_bytes(), now)
        assert remembering.standings(changes) == town(Limits()).standings(changes)
    assert len(changes) > 1_000


def test_strangers_leave_an_owner_the_room_of_the_collection() -> None:
    """They fill what they may of it, and everything else."""
    owned, others = replace(SHOP, owned=True), LARGEST_CHANGES // LARGEST_OF_COLLECTION
    strangers = [Collection(f"stranger-{number}", ()) for number in range(others)]
    everybody = town(Limits(), owned, *strangers)
    half = LARGEST_OF_COLLECTION // 2
    changes = everybody.changed(b"", adds(long_name(half - 500), "shop"), 0)
    with pytest.raises(ValueError, match="would take more than 32,768 bytes"):
        everybody.changed(changes, adds(once("y" * 500, 20, 22), "shop"), 0)
    for collection in strangers[:-1]:
        content = adds(long_name(LARGEST_OF_COLLECTION - 500), collection.id)
        changes = everybody.changed(changes, content, 0)
    left = LARGEST_CHANGES - len(changes)
    changes = everybody.changed(changes, adds(long_name(left - 500), strangers[-1].id), 0)
    bath = once("z" * (half - 500), 20, 22)
    by_owner = Change("shop", 0, bath.id, bath, owner=True, sequence=1)
    assert everybody.changed(changes, by_owner.to_bytes(), 0)


def test_no_days_left_out_hide_what_a_policy_costs_later() -> None:
    """Each policy has a first interval by itself, then none for a year, and then all overlap."""

    def later(number: int) -> Policy:
        days = [date(1970, 1, 1) + timedelta(days=day) for day in range(420)]
        days.remove(date(1970, 1, 6 + number))
        when = Calendar(GREENWICH, tuple(range(7)), 0, 12 * HOUR, except_days=tuple(days))
        return Policy(f"later-{number}", when, 1, (50,))

    limited, changes = town(Limits(demand=60)), b""
    changes = limited.changed(changes, adds(later(0), "shop"), 0)
    with pytest.raises(ValueError, match=r"limits\.noise: would make noise of 100 kW"):
        limited.changed(changes, adds(later(1), "shop"), 0)


def test_days_left_out_beyond_the_last_one_of_a_policy_are_not_looked_at() -> None:
    christmas = date(2900, 12, 25)
    when = Calendar(GREENWICH, (0,), 0, HOUR, None, date(1971, 1, 1), (christmas,))
    limited = town(Limits(demand=60))
    assert limited.changed(b"", adds(Policy("brief", when, 1, (5,)), "shop"), 0)


def test_days_left_out_cost_no_year_more_than_they_are_spread_over() -> None:
    """A calendar without a first day is not looked at before the first day that is left out."""
    when = Calendar(GREENWICH, (0,), 0, HOUR, except_days=(date(2026, 5, 1), date(2026, 12, 25)))
    looked_at = stretches([Admitted(Policy("work", when, 1, (5,)))], 0, HOURLY, days=35)
    assert sum(last - first for first, last in looked_at) < 24 * 400


def test_strangers_make_a_hundred_collections_and_no_more() -> None:
    """Each one costs time at every tick, however little it asks for; owners are not held up."""
    everybody, changes = town(Limits()), b""

    def made(number: int, *, owner: bool = False) -> bytes:
        return NewCollection(f"barn-{number}", 0, (TEA,), owner=owner).to_bytes()

    for number in range(MOST_MADE_BY_STRANGERS):
        changes = everybody.changed(changes, made(number), 0)
    with pytest.raises(ValueError, match=r"^collection barn-999: strangers have made 100"):
        everybody.changed(changes, made(999), 0)
    owned = everybody.changed(changes, made(999, owner=True), 0)
    assert everybody.changed(owned, adds(once("bath", 20, 22), "barn-999"), 0)


def test_limits_do_not_hold_for_what_two_collections_ask_for_together() -> None:
    """One has high thresholds, the other one long patterns; a figure has the noise of both.

    That is a limit of limits, which the docs state. What holds is a whole contribution at every
    tick of the longest interval.
    """
    limited = town(Limits(demand=1_000, interval=500))
    high = limited.changed(b"", adds(once("sauna", 100, 109, 1, 1_000), "shop"), 0)
    both = limited.changed(high, adds(once("trip", 30, 529, 500, 1)), 0)
    asked = limited.relevance(105, both)
    together = asked.sensitivity * max(one.affected for one in asked.intervals)
    assert together == 500 * 1_000
    assert together <= limited.longest * limited.largest_sensitivity


# All occurrences at once are those that come one after the other.


MINUTES = 60_000


def random_policy(random: Random, zone: Zone) -> Admitted:
    length = random.randrange(1, 5)
    thresholds = tuple(random.randrange(5) for _ in range(random.choice([1, length])))
    policy = Policy("any", random_when(random, zone), length, thresholds)
    if random.random() < 0.5:
        return Admitted(policy)
    first = random.choice([SINCE_EVER, random.randrange(-100, 400)])
    return Admitted(policy, first, random.choice([FOR_EVER, random.randrange(0, 600)]))


def random_when(random: Random, zone: Zone) -> When:
    first = date(1970, 1, 1) + timedelta(days=random.randrange(-9, 9))
    if random.random() < 0.3:
        start = datetime(1970, 1, 1) + timedelta(seconds=random.randrange(-9 * DAY, 9 * DAY))
        return Once(zone, start, start + timedelta(seconds=random.randrange(1, 9 * DAY)))
    days = tuple(random.sample(range(7), random.randrange(1, 8)))
    last = random.choice([None, first + timedelta(days=random.randrange(20))])
    excepted = tuple(first + timedelta(days=random.randrange(20)) for _ in range(3))
    start_of_day, end = random.randrange(DAY), random.randrange(DAY + 1)
    begin = random.choice([None, first])
    return Calendar(zone, days, start_of_day, end, begin, last, excepted)


@pytest.mark.parametrize("seed", range(30))
def test_columns_hold_what_policies_yield(seed: int) -> None:
    random = Random(seed)
    zone = random_zone(random, apart=2 * DAY)
    milliseconds = random.choice([7_001, 60, 13]) * MINUTES // 60
    admitted = [random_policy(random, zone) for _ in range(60)]
    day = DAY * 1000 // milliseconds
    first = random.randrange(-5 * day, 9 * day)
    last = first + random.randrange(day, 9 * day)
    found = expanded(admitted, first, last, milliseconds)
    rows = zip(
        *(found.policy.tolist(), found.start.tolist(), found.end.tolist()),
        *(found.length.tolist(), found.largest.tolist()),
        strict=True,
    )
    expected = [
        (place, one.start, one.end, one.length, max(one.thresholds))
        for place, policy in enumerate(admitted)
        for one in policy.overlapping(first, last, milliseconds)
    ]
    assert sorted(rows) == sorted(expected)
    assert len(expected) > 9
    assert found.start.tolist() == sorted(found.start.tolist())


# Bound from above what policies cost, by their calendars; the bound is near.


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
