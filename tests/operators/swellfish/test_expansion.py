"""All occurrences at once are those that come one after the other."""

from datetime import date, datetime, timedelta
from random import Random

import pytest

from fugu.operators.swellfish.calendar import Calendar, Once, When
from fugu.operators.swellfish.expansion import expanded
from fugu.operators.swellfish.occurrences import FOR_EVER, SINCE_EVER, Admitted
from fugu.operators.swellfish.policy import Policy
from fugu.operators.swellfish.zone import DAY, Zone
from tests.operators.swellfish.test_zone import random_zone

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
