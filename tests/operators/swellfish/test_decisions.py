"""Owners, numbers, new collections and moved keys: who may change what, and what becomes of it."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random

import pytest

from fugu.operators.swellfish.calendar import Calendar
from fugu.operators.swellfish.changes import AnyChange, Change, MovedKeys, NewCollection, change_of
from fugu.operators.swellfish.policy import Collection, Policy
from fugu.operators.swellfish.relevance import Query
from fugu.operators.swellfish.timeline import Policies
from tests.operators.swellfish.lifecycle import Household
from tests.operators.swellfish.test_lifecycle import FREE, SHOWER, mornings, random_policy
from tests.operators.swellfish.zones import GREENWICH, HOUR, HOURLY, once

WEEK = tuple(range(7))
OWNED = Policies(
    HOURLY,
    FREE,
    (Collection("home", (SHOWER,), owned=True), Collection("cabin", ())),
    notice=24 * 5,
)
NOW = 24 * 12
REMOVAL = Change("home", 0, "shower", None)


def told(
    timeline: Policies, changes: Iterable[AnyChange], now: int = NOW, before: bytes = b""
) -> bytes:
    for change in changes:
        before = timeline.changed(before, change.to_bytes(), now)
    return before


def put(policy: Policy, collection: str = "home") -> Change:
    return Change(collection, 0, policy.id, policy)


@pytest.mark.parametrize(
    "change",
    [
        REMOVAL,
        put(replace(SHOWER, thresholds=(49,))),
        put(replace(SHOWER, when=Calendar(GREENWICH, WEEK, 6 * HOUR, 8 * HOUR))),
        put(replace(SHOWER, when=Calendar(GREENWICH, WEEK[:6], 6 * HOUR, 9 * HOUR))),
        put(replace(SHOWER, activities=("boiler",))),
        put(once("shower", NOW + 30, NOW + 40, 1, 10**6)),
        put(once("shower", NOW - 30, NOW - 20, 1, 10**6)),
    ],
    ids=["removal", "lower", "shorter", "one day less", "narrower", "once", "never"],
)
def test_a_stranger_takes_nothing_away_where_there_are_owners(change: Change) -> None:
    with pytest.raises(ValueError, match=r"^policy shower: collection home is owned, and only an"):
        told(OWNED, [change])
    by_owner = told(OWNED, [replace(change, owner=True, sequence=1)])
    assert min(mornings(OWNED, by_owner)[:17]) >= 50, "the notice"
    nobodys = replace(OWNED, collections=(Collection("home", (SHOWER,)),))
    assert mornings(nobodys, told(nobodys, [change])) == mornings(OWNED, by_owner)


@pytest.mark.parametrize(
    ("change", "most"),
    [
        (put(SHOWER), 50),
        (put(replace(SHOWER, thresholds=(60,), length=2)), 60),
        (put(replace(SHOWER, when=Calendar(GREENWICH, WEEK, 6 * HOUR, 12 * HOUR))), 50),
        (put(once("guests", NOW, NOW + 47, 1, 5)), 50),
    ],
    ids=["the same", "higher", "longer", "another one"],
)
def test_a_stranger_can_hide_more(change: Change, most: int) -> None:
    after = mornings(OWNED, told(OWNED, [change]))
    assert after[:12] == [50] * 12
    assert after[14:] == [most] * 16


def test_a_change_by_an_owner_counts_once() -> None:
    lower = replace(put(replace(SHOWER, thresholds=(20,))), owner=True, sequence=4)
    changes = told(OWNED, [lower])
    back = replace(put(SHOWER), owner=True, sequence=5)
    changes = told(OWNED, [back], before=changes)
    for replayed in (lower, back, replace(lower, sequence=0)):
        with pytest.raises(ValueError, match=r"^policy shower: sequence: must be more than 5"):
            told(OWNED, [replayed], before=changes)
    assert mornings(OWNED, changes) == [50] * 30


def test_a_change_by_an_owner_that_was_refused_does_not_count_later() -> None:
    """Whoever has the record writes it again when there is something that it removes."""
    gone = replace(REMOVAL, removes="sauna", owner=True, sequence=7).to_bytes()
    with pytest.raises(ValueError, match="has no policy with this id"):
        OWNED.changed(b"", gone, NOW)
    refused = OWNED.told(b"", gone, NOW)
    back = told(OWNED, [put(once("sauna", NOW + 400, NOW + 410))], before=refused)
    with pytest.raises(ValueError, match=r"^policy sauna: sequence: must be more than 7"):
        OWNED.changed(back, gone, NOW)
    assert OWNED.told(back, gone, NOW) == back
    stranger = replace(REMOVAL, sequence=9).to_bytes()
    assert OWNED.told(back, stranger, NOW) == back


def test_the_first_change_by_an_owner_needs_a_number() -> None:
    with pytest.raises(ValueError, match=r"sequence: must be more than 0"):
        told(OWNED, [replace(REMOVAL, owner=True)])


def test_numbers_are_those_of_a_collection() -> None:
    homes = tuple(Collection(name, (SHOWER,), owned=True) for name in ("home", "cabin"))
    timeline = replace(OWNED, collections=homes)
    gone = replace(REMOVAL, owner=True, sequence=9)
    after = told(timeline, [gone, replace(gone, collection="cabin", sequence=1)])
    assert mornings(timeline, after)[17:] == [0] * 13


GUESTS = once("guests", NOW + 6, NOW + 8, 1, 70)
HOTEL = NewCollection("hotel", 0, (GUESTS,))


def test_a_new_collection_asks_for_its_policies_and_waits_for_nobody() -> None:
    holiday = Collection("cabin", (once("trip", 0, 1000, 1, 3),))
    timeline = replace(OWNED, collections=(*OWNED.collections[:1], holiday))
    after = told(timeline, [HOTEL])
    assert mornings(timeline, after)[11:14] == [50, 70, 50]
    assert timeline.decision(b"", HOTEL.to_bytes(), NOW).first == (NOW + 6, NOW + 8)
    later = told(timeline, [put(replace(SHOWER, thresholds=(90,)), "hotel")], before=after)
    assert mornings(timeline, later)[11:14] == [50, 160, 90]
    with pytest.raises(ValueError, match=r"^collection hotel: is there already"):
        told(timeline, [replace(HOTEL, owner=True, sequence=1)], before=after)


def test_a_new_collection_is_owned_if_an_owner_makes_it() -> None:
    after = told(OWNED, [replace(HOTEL, owner=True, sequence=3)])
    with pytest.raises(ValueError, match="collection hotel is owned"):
        told(OWNED, [Change("hotel", 0, "guests", None)], before=after)
    gone = Change("hotel", 0, "guests", None, owner=True, sequence=3)
    with pytest.raises(ValueError, match="sequence: must be more than 3"):
        told(OWNED, [gone], before=after)
    strangers = told(OWNED, [HOTEL])
    assert told(OWNED, [Change("hotel", 0, "guests", None)], before=strangers)


def test_a_new_collection_stays_when_its_policies_are_over() -> None:
    made = told(OWNED, [replace(HOTEL, owner=True, sequence=3)])
    later = told(OWNED, [put(once("tea", 900, 901), "cabin")], now=800, before=made)
    assert OWNED.standings(later)["hotel"].admitted == ()
    assert OWNED.standings(later)["hotel"].owned
    with pytest.raises(ValueError, match=r"^collection hotel: is there already"):
        told(OWNED, [HOTEL], now=800, before=later)


def test_keys_move_after_the_notice_and_change_no_number() -> None:
    free = replace(OWNED, collections=(Collection("home", (SHOWER,)), Collection("cabin", ())))
    made = told(free, [HOTEL])
    moved = told(free, [MovedKeys("hotel", 0, ("meter-7", "meter-8"))], before=made)
    assert free.standings(moved)["hotel"].keys == dict.fromkeys(("meter-7", "meter-8"), NOW + 120)
    assert mornings(free, moved) == mornings(free, made)


def test_the_last_move_of_a_key_counts_and_what_is_over_is_forgotten() -> None:
    free = replace(OWNED, collections=(Collection("home", ()), Collection("cabin", ())))

    def keys(changes: bytes) -> dict[str, dict[str, int]]:
        return {name: dict(one.keys) for name, one in free.standings(changes).items()}

    def moved(before: bytes, to: str, now: int, effective: int = 0) -> bytes:
        return told(free, [MovedKeys(to, effective, ("meter-7",))], now, before)

    first = moved(b"", "home", now=0)
    assert keys(first) == {"home": {"meter-7": 120}, "cabin": {}}
    second = moved(first, "cabin", now=10)
    assert keys(second) == {"home": {"meter-7": 120}, "cabin": {"meter-7": 130}}
    assert keys(moved(second, "home", now=12, effective=125)) == {
        "home": {"meter-7": 132},
        "cabin": {"meter-7": 130},
    }
    assert keys(moved(second, "home", now=500)) == {
        "home": {"meter-7": 620},
        "cabin": {"meter-7": 130},
    }


def test_strangers_do_not_move_keys_where_anything_is_owned() -> None:
    move = MovedKeys("cabin", 0, ("meter-7",))
    with pytest.raises(
        ValueError, match=r"^collection cabin: keys: are moved by owners of the whole document"
    ):
        told(OWNED, [move])
    assert told(OWNED, [replace(move, owner=True, sequence=1)])


@pytest.mark.parametrize("change", [HOTEL, MovedKeys("hotel", 3, ("meter-7",)), REMOVAL])
def test_changes_are_read_as_they_were_written(change: AnyChange) -> None:
    for one in (change, replace(change, owner=True, sequence=2**50)):
        assert change_of(one.to_bytes()) == one


@pytest.mark.parametrize("keys", [(), ("a", "a")])
def test_moves_name_keys_once(keys: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"^keys: must be at least one, and each once"):
        MovedKeys("hotel", 0, keys)


def test_a_new_collection_keeps_to_the_query() -> None:
    timeline = Policies(HOURLY, Query("multi_histogram", 1, ("sauna",)), ())
    with pytest.raises(ValueError, match=r"^policy guests: activities: the query has no yoga"):
        told(timeline, [replace(HOTEL, policies=(replace(GUESTS, activities=("yoga",)),))])


@pytest.mark.parametrize("seed", range(6))
def test_collections_that_come_ask_for_what_is_stated_in_time(seed: int) -> None:
    random = Random(seed)
    timeline, changes = replace(OWNED, collections=()), b""
    homes: dict[str, Household] = {}
    for now in range(40, 160):
        if random.random() < 0.05:
            name = f"{random.choice('az')}{now}"
            policies = tuple(random_policy(random, f"p{n}", now) for n in range(3))
            changes = told(timeline, [NewCollection(name, now + 2, policies)], now, changes)
            homes[name] = Household()
            for policy in policies:
                homes[name].change(policy.id, policy, now + 2, now)
        opened = [household.open_at(now) for household in homes.values()]
        most = (sum(one.occurrence.change_at(now) for one in some) for some in opened)
        assert timeline.relevance(now, changes).sensitivity == max(most, default=0)
    assert len(homes) > 2


def test_what_is_remembered_of_changes_is_what_their_bytes_say() -> None:
    """A restart reads the bytes, and must go on like a process that never stopped."""
    random, changes, now = Random(3), b"", 0
    collections = (Collection("home", (SHOWER,), owned=True), Collection("cabin", ()))
    running = Policies(HOURLY, FREE, collections, notice=30)
    accepted = 0
    for number in range(1, 300):
        now += random.randrange(3)
        name = random.choice(["home", "cabin", "barn", "attic"])
        policy = random_policy(random, random.choice("abc"), now)
        of_owner = random.random() < 0.7, number
        some: list[AnyChange] = [
            Change(name, now, policy.id, policy, *of_owner),
            Change(name, now, policy.id, None, *of_owner),
            NewCollection(name, now, (policy,), *of_owner),
            MovedKeys(name, now, (random.choice("xyz"),), *of_owner),
        ]
        change = random.choice(some)
        try:
            changes = running.changed(changes, change.to_bytes(), now)
        except ValueError:
            continue
        accepted += 1
        restarted = Policies(HOURLY, FREE, collections, notice=30).standings(changes)
        assert list(running.standings(changes).items()) == list(restarted.items())
    assert accepted > 100
