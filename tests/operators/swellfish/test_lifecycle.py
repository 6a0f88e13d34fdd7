"""Policies come and go while a stream runs, and no delta(J) ever rises after J has opened."""

from collections import Counter
from dataclasses import replace
from datetime import date
from random import Random

import pytest

from fugu.operators.swellfish.calendar import Calendar
from fugu.operators.swellfish.change import Change
from fugu.operators.swellfish.policy import Collection, Policy
from fugu.operators.swellfish.temporal_sensitivity import Query
from fugu.operators.swellfish.timeline import Policies
from tests.operators.swellfish.lifecycle import Household
from tests.operators.swellfish.zones import GREENWICH, HOUR, HOURLY, once

FREE = Query("sum", 10**6)
NAMES = ("tea", "shower", "trip")


def changed(timeline: Policies, changes: bytes, change: Change, now: int) -> bytes:
    return timeline.changed(changes, change.to_bytes(), now)


def adds(policy: Policy, effective: int = 0, removes: str | None = None) -> Change:
    return Change("home", effective, removes, policy)


def spans(timeline: Policies, tick: int, changes: bytes) -> list[tuple[int, int, int]]:
    intervals = timeline.relevance(tick, changes).intervals
    return [(interval.start, interval.end, interval.affected) for interval in intervals]


def home(*policies: Policy) -> Policies:
    return Policies(HOURLY, FREE, (Collection("home", policies),))


def random_policy(random: Random, name: str, now: int) -> Policy:
    """Once within some ticks around now, or every day."""
    length = random.randrange(1, 4)
    thresholds = tuple(random.choices(range(1, 9), k=random.choice([1, length])))
    if random.random() < 0.6:
        start = now + random.randrange(-6, 12)
        return once(name, start, start + random.randrange(9), length, *thresholds)
    begin, end = (random.randrange(24) * HOUR + random.randrange(2) * HOUR // 2 for _ in range(2))
    days = tuple(random.sample(range(7), random.randrange(1, 8)))
    return Policy(name, Calendar(GREENWICH, days, begin, end), length, thresholds)


def random_change(random: Random, household: Household, name: str, now: int) -> Change | None:
    """One that is allowed, and made in the household as well."""
    requested = now + random.choice([-5, 0, 0, 1, 2, 5, 11])
    effective, policy = max(requested, now), random.choice(NAMES)
    there = household.has(policy, effective)
    if there and not any(
        one.policy == policy and one.occurrence.start >= effective for one in household.planned
    ):
        return None
    added = random_policy(random, policy, now) if not there or random.random() < 0.6 else None
    if there:
        household.remove(policy, effective)
    if added is not None:
        household.add(added, effective)
    return Change(name, requested, policy if there else None, added)


@pytest.mark.parametrize("seed", range(12))
def test_any_changes_are_as_in_a_simulation_and_open_intervals_meet_nothing_new(seed: int) -> None:
    random = Random(seed)
    homes = {"home": Household(), "cabin": Household()}
    configured = {
        name: tuple(random_policy(random, policy, 10) for policy in random.sample(NAMES, 2))
        for name in homes
    }
    for name, household in homes.items():
        household.configure(configured[name])
    collections = tuple(Collection(name, policies) for name, policies in configured.items())
    timeline, changes, frozen = Policies(HOURLY, FREE, collections), b"", Counter[tuple[int, int]]()
    for now in range(250):
        for name, household in homes.items():
            while random.random() < 0.2:
                change = random_change(random, household, name, now)
                if change is not None:
                    changes = changed(timeline, changes, change, now)
        sensitivity, expected = 0, Counter[tuple[int, int]]()
        for household in homes.values():
            opened = household.open_at(now)
            sensitivity = max(sensitivity, sum(one.occurrence.change_at(now) for one in opened))
            for one in opened:
                expected |= Counter(
                    {(one.ticks.start, one.ticks.stop - 1): household.affected(one)}
                )
                assert set(household.overlapping(one)) <= set(
                    household.known.get(one, [one, *household.planned])
                )
        asked = spans(timeline, now, changes)
        assert asked == [(*span, affected) for span, affected in sorted(expected.items())]
        assert timeline.relevance(now, changes).sensitivity == sensitivity
        for start, end, affected in asked:
            assert affected <= frozen.setdefault((start, end), affected)


def test_occurrence_that_would_raise_what_is_frozen_is_postponed() -> None:
    timeline = home(once("stay", 0, 3))
    late = adds(once("visit", 2, 3))
    assert spans(timeline, 0, b"") == [(0, 3, 1)]
    assert spans(home(once("stay", 0, 3), once("visit", 2, 3)), 0, b"") == [(0, 3, 2)]
    decision = timeline.decision(b"", late.to_bytes(), now=1)
    assert (decision.effective, decision.first, decision.waits_for) == (1, None, (0, 3))
    after = changed(timeline, b"", late, now=1)
    assert [spans(timeline, tick, after) for tick in (1, 2, 3, 4)] == [[(0, 3, 1)]] * 3 + [[]]


def test_occurrence_that_is_known_in_time_counts() -> None:
    timeline = home(once("stay", 5, 9))
    early = adds(once("visit", 7, 8), effective=2)
    decision = timeline.decision(b"", early.to_bytes(), now=2)
    assert (decision.first, decision.waits_for) == ((7, 8), None)
    assert spans(timeline, 5, changed(timeline, b"", early, now=2)) == [(5, 9, 2)]


def test_daily_policy_begins_on_the_first_day_that_meets_nothing_open() -> None:
    daily = Policy("tea", Calendar(GREENWICH, tuple(range(7)), 8 * HOUR, 10 * HOUR), 1, (1,))
    timeline = home(once("trip", 2, 40))
    decision = timeline.decision(b"", adds(daily).to_bytes(), now=3)
    assert (decision.effective, decision.first, decision.waits_for) == (3, (56, 57), (2, 40))


def test_change_for_a_tick_that_is_past_counts_from_now_on() -> None:
    decision = home().decision(b"", adds(once("tea", 4, 6), effective=-7).to_bytes(), now=5)
    assert (decision.effective, decision.first) == (5, None)


def test_what_is_removed_runs_to_its_end_and_does_not_come_again() -> None:
    daily = Policy("tea", Calendar(GREENWICH, tuple(range(7)), 8 * HOUR, 10 * HOUR), 1, (1,))
    timeline, removal = home(daily), Change("home", 0, "tea", None)
    assert timeline.decision(b"", removal.to_bytes(), now=9).runs_out == (8, 9)
    after = changed(timeline, b"", removal, now=9)
    assert [spans(timeline, tick, after) for tick in (9, 10, 32)] == [[(8, 9, 1)], [], []]


def test_replacement_waits_for_the_end_of_what_it_replaces() -> None:
    timeline = home(once("trip", 2, 9))
    longer = adds(once("trip", 9, 12), removes="trip")
    decision = timeline.decision(b"", longer.to_bytes(), now=5)
    assert (decision.first, decision.waits_for, decision.runs_out) == (None, (2, 9), (2, 9))


def test_replacement_of_what_is_not_there_adds_it() -> None:
    tea = once("tea", 20, 22)
    replaced = changed(home(), b"", adds(tea, removes="tea"), now=1)
    assert replaced == changed(home(), b"", adds(tea), now=1)


def test_policy_that_is_removed_before_it_begins_can_be_added_again() -> None:
    timeline, tea = home(), once("tea", 20, 22)
    planned = changed(timeline, b"", adds(tea, effective=10), now=1)
    gone = changed(timeline, planned, Change("home", 4, "tea", None), now=2)
    assert gone == b""
    assert changed(timeline, gone, adds(tea, effective=10), now=3) == planned


def test_added_occurrences_count_for_each_other() -> None:
    timeline = home()
    changes = changed(timeline, b"", adds(once("tea", 10, 14, 2)), now=1)
    changes = changed(timeline, changes, adds(once("trip", 12, 18, 3)), now=2)
    assert spans(timeline, 12, changes) == [(10, 14, 5), (12, 18, 5)]


def test_collections_do_not_wait_for_each_other() -> None:
    timeline = Policies(
        HOURLY, FREE, (Collection("home", ()), Collection("cabin", (once("trip", 2, 40),)))
    )
    decision = timeline.decision(b"", adds(once("tea", 4, 6)).to_bytes(), now=3)
    assert (decision.first, decision.waits_for) == ((4, 6), None)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (adds(once("trip", 50, 60)), r"^policy trip: adds: .* has a policy with this id"),
        (Change("home", 0, "tea", None), r"^policy tea: removes: .* no policy with this"),
        (Change("cabin", 0, "trip", None), r"^policy trip: collection: cabin is not known"),
        (replace(adds(once("tea", 50, 60)), collection="cabin"), r"^policy tea: collection: "),
        (
            adds(replace(once("tea", 5, 6), activities=("yoga",))),
            r"^policy tea: activities: .* yoga",
        ),
        (adds(once("x" * 2**20, 50, 60)), r"^policy x+: adds: all changes would"),
    ],
)
def test_change_that_is_not_possible_is_refused(change: Change, said: str) -> None:
    collection = Collection("home", (once("trip", 2, 40),))
    timeline = Policies(HOURLY, Query("multi_histogram", 1, ("sauna",)), (collection,))
    with pytest.raises(ValueError, match=said):
        changed(timeline, b"", change, now=3)


@pytest.mark.parametrize("change", [b"", b"{", b"[]", b'{"collection": "home"}'])
def test_change_that_cannot_be_read_is_refused(change: bytes) -> None:
    with pytest.raises(ValueError, match=r"JSON|must be an object|is missing"):
        home().changed(b"", change, now=3)


def test_change_needs_something_to_add_or_to_remove() -> None:
    with pytest.raises(ValueError, match=r"^adds: "):
        Change("home", 0, None, None)


def test_changes_are_forgotten_when_they_no_longer_matter() -> None:
    timeline, changes, most = home(), b"", 0
    for now in range(0, 3000, 10):
        policy = once(f"tea {now}", now + 2, now + 8)
        changes = changed(timeline, changes, adds(policy), now)
        changes = changed(timeline, changes, Change("home", now + 3, policy.id, None), now)
        most = max(most, len(changes))
    assert most < 1500
    last = changed(timeline, changes, adds(once("last", 5000, 5000)), 4000)
    assert changed(timeline, last, Change("home", 0, "last", None), 4000) == b""


def test_configured_policy_stays_removed() -> None:
    daily = Policy("tea", Calendar(GREENWICH, tuple(range(7)), 8 * HOUR, 10 * HOUR), 1, (1,))
    timeline = home(daily)
    removed = changed(timeline, b"", Change("home", 0, "tea", None), now=0)
    later = changed(timeline, removed, adds(once("trip", 900, 901)), now=800)
    later = changed(timeline, later, Change("home", 0, "trip", None), now=850)
    assert later == removed
    assert spans(timeline, 24 * 50 + 8, later) == []


def test_zone_is_written_once_however_many_policies_have_it() -> None:
    timeline, changes = home(), b""
    for day in range(1, 10):
        calendar = Calendar(GREENWICH, (0,), 0, HOUR, date(2024, 1, day))
        changes = changed(timeline, changes, adds(Policy(f"day {day}", calendar, 1, (1,))), now=0)
    assert changes.count(b"UTC") == 1
