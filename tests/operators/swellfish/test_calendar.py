"""Calendars give the right intervals of ticks, on every day of the year."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from itertools import islice, pairwise, takewhile
from random import Random

import pytest

from fugu.operators.swellfish.calendar import DAY, Calendar, Once, Zone
from tests.operators.swellfish.test_zone import random_zone
from tests.operators.swellfish.zones import BERLIN, GREENWICH, HOUR, HOURLY, utc

TEN_MINUTES = 600_000
EVERY_DAY = tuple(range(7))


def on(day: date, start: float, end: float) -> tuple[int, int]:
    """The only interval of a day in Berlin, in ticks of ten minutes since its midnight in UTC."""
    calendar = Calendar(BERLIN, EVERY_DAY, int(start * HOUR), int(end * HOUR), day, day)
    ((first, last),) = calendar.intervals(0, TEN_MINUTES)
    midnight = utc(day.year, day.month, day.day) * 1000 // TEN_MINUTES
    return first - midnight, last - midnight


def test_hours_follow_local_clocks() -> None:
    assert on(date(2024, 3, 30), 6, 9) == (5 * 6, 8 * 6 - 1)
    assert on(date(2024, 4, 1), 6, 9) == (4 * 6, 7 * 6 - 1)


def test_night_is_an_hour_shorter_in_spring_and_longer_in_autumn() -> None:
    assert on(date(2024, 3, 31), 1, 4) == (0, 2 * 6 - 1)
    assert on(date(2024, 10, 27), 1, 4) == (-6, 3 * 6 - 1)


def test_interval_never_shrinks_where_local_times_are_skipped_or_happen_twice() -> None:
    assert on(date(2024, 3, 31), 2.5, 5) == (3, 3 * 6 - 1)
    assert on(date(2024, 3, 31), 1, 2.5) == (0, 6 + 3 - 1)
    assert on(date(2024, 3, 31), 2.25, 2.75) == (1, 6 + 5 - 1)
    assert on(date(2024, 10, 27), 2.5, 5) == (3, 4 * 6 - 1)
    assert on(date(2024, 10, 27), 1, 2.5) == (-6, 6 + 3 - 1)


def test_every_tick_that_is_touched_belongs_to_the_interval() -> None:
    half_past = Calendar(GREENWICH, (3,), HOUR // 2, HOUR // 2 + 1, date(1970, 1, 1))
    assert next(half_past.intervals(0, HOURLY)) == (0, 0)
    across = Once(GREENWICH, datetime(1970, 1, 1, 0, 59), datetime(1970, 1, 1, 2, 0, 1))
    assert list(across.intervals(0, HOURLY)) == [(0, 2)]


def test_end_that_is_not_after_start_is_on_the_next_day() -> None:
    late = Calendar(GREENWICH, EVERY_DAY, 22 * HOUR, 2 * HOUR, date(1970, 1, 1))
    whole = Calendar(GREENWICH, EVERY_DAY, HOUR // 2, HOUR // 2, date(1970, 1, 1))
    assert list(islice(late.intervals(0, HOURLY), 2)) == [(22, 25), (46, 49)]
    assert list(islice(whole.intervals(0, HOURLY), 2)) == [(0, 24), (24, 48)]


def test_days_are_chosen_by_weekday_range_and_exception() -> None:
    calendar = Calendar(
        BERLIN, (0, 2), 6 * HOUR, 7 * HOUR, date(2024, 4, 29), date(2024, 5, 8), (date(2024, 5, 1),)
    )
    starts = [datetime(1970, 1, 1) + timedelta(hours=first) for first, _ in all_of(calendar)]
    assert [start.date() for start in starts] == [
        date(2024, 4, 29),
        date(2024, 5, 6),
        date(2024, 5, 8),
    ]


def all_of(calendar: Calendar) -> Sequence[tuple[int, int]]:
    return list(calendar.intervals(-(10**9), HOURLY))


def random_calendar(random: Random, zone: Zone) -> Calendar:
    first = date(1970, 1, 1) + timedelta(days=random.randrange(-9, 9))
    days = tuple(random.sample(EVERY_DAY, random.randrange(1, 8)))
    start, end = random.randrange(DAY), random.randrange(DAY + 1)
    excepted = tuple(first + timedelta(days=random.randrange(20)) for _ in range(3))
    return Calendar(zone, days, start, end, first, first + timedelta(days=20), excepted)


def test_intervals_from_any_tick_on_are_those_of_all_that_have_not_ended() -> None:
    random = Random(3)
    for _ in range(150):
        zone = random_zone(random, apart=2 * DAY)
        calendar = random_calendar(random, zone)
        milliseconds = random.choice([HOURLY, 7 * HOURLY, TEN_MINUTES + 1, 86_400_000, 200_000_000])
        all_intervals = list(calendar.intervals(-(10**7), milliseconds))
        assert all(start <= end for start, end in all_intervals)
        assert all_intervals == sorted(all_intervals)
        assert [end for _, end in all_intervals] == sorted(end for _, end in all_intervals)
        for _ in range(10):
            tick = random.randrange(-40 * DAY, 40 * DAY) * 1000 // milliseconds
            expected = [interval for interval in all_intervals if interval[1] >= tick]
            assert list(calendar.intervals(tick, milliseconds)) == expected


def test_calendar_without_last_day_goes_on_for_ever() -> None:
    mondays = Calendar(BERLIN, (0,), 0, HOUR)
    far = 10**9
    weeks = takewhile(lambda interval: interval[0] < far + 21 * 24, mondays.intervals(far, HOURLY))
    assert [second[0] - first[0] for first, second in pairwise(weeks)] == [168, 168]


@pytest.mark.parametrize(
    ("field", "value"),
    [("days", ()), ("days", (7,)), ("start", DAY), ("start", -1), ("end", DAY + 1)],
)
def test_calendar_names_the_field_that_is_wrong(field: str, value: object) -> None:
    right = {"zone": GREENWICH, "days": (0,), "start": 0, "end": HOUR}
    with pytest.raises(ValueError, match=f"^{field}: "):
        Calendar(**{**right, field: value})  # type: ignore[arg-type]


def test_once_needs_a_local_time_and_an_end_after_the_start() -> None:
    noon = datetime(2024, 1, 1, 12)
    with pytest.raises(ValueError, match=r"^end: "):
        Once(GREENWICH, noon, noon)
    with pytest.raises(ValueError, match=r"^start: .* without offset"):
        Once(GREENWICH, noon.astimezone(), noon)


@pytest.mark.parametrize("seed", range(20))
def test_no_interval_is_longer_than_is_said(seed: int) -> None:
    """Try days on which clocks are put back, too."""
    random = Random(seed)
    zone, width = random_zone(random, HOUR), random.choice((1000, 60_000, 600_000, 3_600_000))
    start, end = random.randrange(DAY), random.randrange(DAY + 1)
    calendar = Calendar(zone, EVERY_DAY, start, end)
    for first, last in islice(calendar.intervals(0, width), 1000):
        assert last - first + 1 <= calendar.longest(width)
    once = Once(zone, datetime(2024, 3, 1), datetime(2024, 3, 2, 7))
    ((first, last),) = once.intervals(0, width)
    assert last - first + 1 == once.longest(width)
