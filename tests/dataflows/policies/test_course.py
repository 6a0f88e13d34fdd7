"""Compare what a document asks over days with what it asks of every tick."""

from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest

from fugu.dataflows.policies.course import Course, first_day
from fugu.dataflows.policies.document import PolicyDocument
from tests.dataflows.policies.documents import EXAMPLE, read, with_change

CALENDAR = '{days: [mon, fri], start: "06:00", end: "09:00"}'
ONCE = """\
      - id: holiday
        interval: {start: 2026-07-18T12:00, end: 2026-07-18T13:00}
        pattern: {ticks: 2}
        theta: [1, 3.5]
"""


@pytest.mark.parametrize("day", [date(2026, 1, 5), date(2026, 3, 28), date(2026, 7, 17)])
def test_stretches_say_of_every_tick_what_is_asked(day: date) -> None:
    course = Course(PolicyDocument.read(EXAMPLE), day, days=3)
    told = [
        (tick, stretch.relevance, {one.occurrence for one in stretch.hidden})
        for stretch in course.stretches
        for tick in range(stretch.start, stretch.end + 1)
    ]
    occurrences = [one.occurrence for one in course.hidden]
    assert told == [
        (
            tick,
            course.document.policies.relevance(tick, b""),
            {one for one in occurrences if one.start <= tick <= one.end},
        )
        for tick in range(course.start, course.end + 1)
    ]


def test_neighbouring_stretches_differ() -> None:
    stretches = Course(PolicyDocument.read(EXAMPLE), date(2026, 7, 17), days=9).stretches
    asked = [(stretch.relevance, stretch.hidden) for stretch in stretches]
    assert all(one != following for one, following in pairwise(asked))


def test_a_day_has_the_hours_that_clocks_show() -> None:
    document = PolicyDocument.read(EXAMPLE)
    hours = [
        (course.end - course.start + 1) // 6
        for day in (date(2026, 3, 28), date(2026, 3, 29), date(2026, 10, 25))
        for course in [Course(document, day, days=1)]
    ]
    assert hours == [24, 23, 25]


@pytest.mark.parametrize(
    ("old", "new", "day"),
    [
        (CALENDAR, CALENDAR, date(2026, 7, 18)),
        (CALENDAR, CALENDAR[:-1] + ", from: 2026-02-01}", date(2026, 2, 2)),
        (CALENDAR, CALENDAR[:-1] + ", from: 2026-08-01}", date(2026, 7, 18)),
        (ONCE, "", date(1970, 1, 1)),
    ],
)
def test_the_first_day_is_that_of_the_first_occurrence(
    old: str, new: str, day: date, tmp_path: Path
) -> None:
    assert first_day(read(tmp_path, with_change(old, new))) == day


def test_where_all_policies_are_since_ever_the_origin_says_the_first_day(tmp_path: Path) -> None:
    text = with_change("tick: PT10M", 'origin: "2023-12-31T23:00:00Z", tick: PT10M')
    assert first_day(read(tmp_path, text.replace(ONCE, ""))) == date(2024, 1, 1)
