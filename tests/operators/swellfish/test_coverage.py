"""Check, day by day, that what is said to be covered for ever is covered."""

from dataclasses import replace
from datetime import date, timedelta
from random import Random

from fugu.operators.swellfish.calendar import Calendar, Zone
from fugu.operators.swellfish.decisions import goes_on
from fugu.operators.swellfish.policy import Admitted, Occurrence, Policy
from tests.operators.swellfish.lifecycle import Planned, hides
from tests.operators.swellfish.zones import BERLIN, HOUR, HOURLY, once, utc

JUMPS = tuple((utc(2024, 1, 1) + 41 * HOUR * n, n % 3 * HOUR) for n in range(90))
JUMPY = Zone("jumpy", ((0, 0), *JUMPS))
FIRST = utc(2023, 12, 20) // HOUR
ACTIVITIES = ("bath", "tea")


def random_calendar(random: Random, zone: Zone) -> Calendar:
    start, end = random.choice([(2, 3), (2, 6), (2, 4), (1, 3), (1, 3), (23, 2)])
    half = random.choice([0, 0, HOUR // 2])
    days = tuple(random.sample(range(7), random.choice([5, 7, 7])))
    first = random.choice([None, None, date(2023, 12, 1), date(2024, 2, 1)])
    skipped = tuple(date(2024, 1, 1) + timedelta(days=random.randrange(60)) for _ in range(2))
    except_days = skipped if random.random() < 0.2 else ()
    last = random.choice([None, None, date(2024, 5, 1)])
    return Calendar(zone, days, start * HOUR, end * HOUR + half, first, last, except_days)


def random_policy(random: Random, zone: Zone) -> Policy:
    length = random.choice([1, 2, 3, 3])
    thresholds = tuple(random.choices(range(1, 4), k=random.choice([1, length, length])))
    activities = random.choice([(), (), ACTIVITIES, ACTIVITIES[:1]])
    return Policy("p", random_calendar(random, zone), length, thresholds, activities)


def changed(random: Random, policy: Policy) -> Policy:
    """Another one, much like it."""
    when = policy.when
    assert isinstance(when, Calendar)
    longer = replace(when, end=(when.end + random.choice([0, 1, 1, 2]) * HOUR) % (24 * HOUR))
    other = random_policy(random, when.zone)
    made = replace(policy, when=random.choice([when, longer, longer, other.when]))
    if random.random() < 0.3:
        made = replace(made, activities=other.activities)
    if random.random() < 0.5:
        more = max(policy.thresholds) if random.random() < 0.7 else random.randrange(1, 4)
        made = replace(made, length=policy.length + random.randrange(2), thresholds=(more,))
    return made


def until_summer(admitted: Admitted, tick: int) -> list[Occurrence]:
    return list(admitted.overlapping(tick, FIRST + 24 * 200, HOURLY))


def test_whatever_is_said_to_go_on_is_hidden_on_every_day() -> None:
    random, found = Random(3), {True: 0, False: 0}
    for _ in range(900):
        policy = random_policy(random, random.choice([BERLIN, JUMPY]))
        old = Admitted(policy)
        new = Admitted(changed(random, policy), FIRST + random.randrange(24 * 7))
        first = new.next_span(new.first, HOURLY)
        if first is None:
            continue
        kept = replace(old, until=first[0] + random.choice([0, 0, 24, 24 * 90]))
        said = goes_on(old, kept, new, HOURLY)
        found[said] += 1
        if said:
            there = until_summer(new, first[0])
            gone = [one for one in until_summer(old, kept.until) if one.start >= kept.until]
            for one in gone:
                near = [other for other in there if other.start <= one.start <= other.end]
                assert any(
                    hides(Planned(new.policy, other), Planned(policy, one)) for other in near
                )
            assert not gone or not new.policy.activities or policy.activities
    assert min(found.values()) > 150


def test_a_policy_that_is_over_takes_nothing_away_and_a_single_interval_is_compared() -> None:
    trip, longer = once("trip", 50, 60, 2, 5), once("trip", 45, 60, 3, 5)
    old, new = Admitted(trip), Admitted(longer, 10)
    assert goes_on(old, replace(old, until=45), new, HOURLY)
    assert not goes_on(Admitted(longer), replace(old, until=45), Admitted(trip, 10), HOURLY)
    assert goes_on(Admitted(longer), replace(old, until=46), Admitted(trip, 10), HOURLY), "begun"
