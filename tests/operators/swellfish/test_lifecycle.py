"""Policies come and go while a stream runs, and no delta(J) ever rises after J has opened."""

import re
from collections import Counter
from dataclasses import replace
from datetime import date
from random import Random

import pytest

from fugu.operators.swellfish.calendar import Calendar
from fugu.operators.swellfish.changes import Change
from fugu.operators.swellfish.policy import Collection, Limits, Policy
from fugu.operators.swellfish.relevance import Query
from fugu.operators.swellfish.timeline import Policies
from tests.operators.swellfish.lifecycle import Household
from tests.operators.swellfish.zones import GREENWICH, HOUR, HOURLY, once
from tests.thinned import first_in_test

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
    policy = random.choice(NAMES)
    if random.random() < 0.3:
        if not household.has(policy, max(requested, now)):
            return None
        household.change(policy, None, requested, now)
        return Change(name, requested, policy, None)
    there = [one.policy for one in household.planned if one.policy.id == policy]
    if there and random.random() < 0.5:
        added = almost(random, random.choice(there))
    else:
        added = random_policy(random, policy, now)
    household.change(policy, added, requested, now)
    return Change(name, requested, policy, added)


def almost(random: Random, policy: Policy) -> Policy:
    """The same policy, or one with larger or smaller thresholds."""
    more = random.choice([-1, 0, 0, 1])
    return replace(policy, thresholds=tuple(max(0, one + more) for one in policy.thresholds))


@pytest.mark.parametrize("seed", first_in_test(range(12), 2))
@pytest.mark.parametrize("notice", [0, 9, 40])
def test_any_changes_are_as_in_a_simulation_and_open_intervals_meet_nothing_new(
    seed: int, notice: int
) -> None:
    random = Random(seed)
    homes = {"home": Household(notice), "cabin": Household(notice)}
    configured = {
        name: tuple(random_policy(random, policy, 10) for policy in random.sample(NAMES, 2))
        for name in homes
    }
    for name, household in homes.items():
        household.configure(configured[name])
    collections = tuple(Collection(name, policies) for name, policies in configured.items())
    timeline = Policies(HOURLY, FREE, collections, notice)
    changes, frozen = b"", Counter[tuple[int, int]]()
    for now in range(250):
        for name, household in homes.items():
            while random.random() < 0.2:
                change = random_change(random, household, name, now)
                if change is not None:
                    changes = changed(timeline, changes, change, now)
        sensitivity, expected = 0, Counter[tuple[int, int]]()
        for household in homes.values():
            opened = household.open_at(now)
            assert not household.lost_at(now)
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


SHOWER = Policy("shower", Calendar(GREENWICH, tuple(range(7)), 6 * HOUR, 9 * HOUR), 1, (50,))
HOLIDAY = once("holiday", 24 * 10, 24 * 24 - 1, 1, 10)
MORNINGS = [24 * day + 7 for day in range(30)]


def mornings(timeline: Policies, changes: bytes) -> list[int]:
    return [timeline.relevance(tick, changes).sensitivity for tick in MORNINGS]


def test_a_shower_that_is_replaced_by_itself_during_a_holiday_is_hidden_on_every_morning() -> None:
    timeline = home(SHOWER, HOLIDAY)
    again = adds(SHOWER, removes="shower")
    before = mornings(timeline, b"")
    assert before[10:24] == [60] * 14
    assert mornings(timeline, changed(timeline, b"", again, now=24 * 12)) == before
    decision = timeline.decision(b"", again.to_bytes(), now=24 * 12)
    assert decision.waits_for == (240, 575)
    assert decision.first == (24 * 24 + 6, 24 * 24 + 8)
    assert decision.until == 24 * 24 + 6


def test_what_counts_for_less_begins_after_the_notice() -> None:
    lower = replace(SHOWER, thresholds=(20,))
    for notice, most in [(0, 0), (10, 1), (24 * 5, 5)]:
        timeline = replace(home(SHOWER), notice=notice)
        after = changed(timeline, b"", adds(lower, removes="shower"), now=24 * 12)
        assert mornings(timeline, after) == [50] * 12 + [70] * most + [20] * (18 - most)
        gone = changed(timeline, b"", Change("home", 0, "shower", None), now=24 * 12)
        assert mornings(timeline, gone) == [50] * (12 + most) + [0] * (18 - most)


def test_notice_of_a_change_in_a_backlog_begins_when_it_was_written() -> None:
    """Sent on day 20, a minute before figures from day 5 on are made."""
    timeline, day = replace(home(SHOWER), notice=24 * 3), 24
    gone = Change("home", 0, "shower", None, sent=20 * day)
    after = changed(timeline, b"", gone, now=5 * day)
    mornings = [one for one in range(5, 30) if spans(timeline, one * day + 7, after)]
    assert mornings == list(range(5, 23))


def test_more_that_is_hidden_needs_no_notice() -> None:
    wider = Calendar(GREENWICH, tuple(range(7)), 5 * HOUR, 10 * HOUR)
    for more in (replace(SHOWER, thresholds=(55,)), replace(SHOWER, when=wider, length=2)):
        timeline = replace(home(SHOWER), notice=24 * 5)
        after = changed(timeline, b"", adds(more, removes="shower"), now=24 * 12)
        assert mornings(timeline, after) == [50] * 12 + [more.thresholds[0]] * 18


def test_nothing_becomes_exact_by_a_replacement_in_an_open_interval_of_threshold_0() -> None:
    timeline = home(SHOWER, replace(HOLIDAY, thresholds=(0,)))
    after = changed(timeline, b"", adds(SHOWER, removes="shower"), now=24 * 12)
    assert mornings(timeline, after) == [50] * 30


def test_what_is_stated_before_a_holiday_is_hidden_in_it() -> None:
    timeline = home(HOLIDAY)
    sauna = adds(once("sauna", 24 * 13, 24 * 13 + 9, 1, 60), effective=24 * 12)
    in_time = changed(timeline, b"", sauna, now=24 * 2)
    assert mornings(timeline, in_time)[12:15] == [10, 70, 10]
    assert timeline.decision(b"", sauna.to_bytes(), now=24 * 2).waits_for is None
    too_late = changed(timeline, b"", sauna, now=24 * 10 + 1)
    assert mornings(timeline, too_late)[12:15] == [10, 10, 10]


def test_what_would_count_twice_within_the_notice_is_told_when_it_may_begin() -> None:
    timeline = replace(home(SHOWER), notice=24 * 5, limits=Limits(demand=60))
    lower = replace(SHOWER, thresholds=(40,))
    with pytest.raises(
        ValueError, match=r"limits\.noise: .* effective from tick 391 on"
    ) as refused:
        changed(timeline, b"", adds(lower, removes="shower"), now=24 * 12)
    [tick] = re.findall(r"from tick (\d+)", str(refused.value))
    after = changed(timeline, b"", adds(lower, int(tick), "shower"), now=24 * 12)
    assert mornings(timeline, after) == [50] * 17 + [40] * 13


def test_a_replacement_that_is_never_admitted_removes_after_the_notice() -> None:
    timeline = replace(home(SHOWER, HOLIDAY), notice=24 * 3)
    never = adds(once("shower", 24 * 13, 24 * 13 + 9), removes="shower")
    after = changed(timeline, b"", never, now=24 * 12)
    assert mornings(timeline, after)[10:20] == [60] * 5 + [10] * 5


def test_who_removes_twice_does_not_wait_longer() -> None:
    timeline, gone = replace(home(SHOWER), notice=24 * 5), Change("home", 0, "shower", None)
    once_removed = changed(timeline, b"", gone, now=24 * 12)
    assert changed(timeline, once_removed, gone, now=24 * 14) == once_removed
    back = changed(timeline, once_removed, adds(SHOWER, removes="shower"), now=24 * 14)
    assert mornings(timeline, back) == [50] * 30


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
        (adds(once("x" * 2**16, 50, 60)), r"^policy x+: changes of collection home would"),
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


def test_change_is_about_one_policy() -> None:
    with pytest.raises(ValueError, match=r"^removes: must be the id of the policy that comes"):
        adds(once("tea", 20, 22), removes="shower")


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
