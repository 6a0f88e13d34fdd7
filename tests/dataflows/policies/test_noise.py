"""Two cars among 600 meters make nights useless, and the attribution says so."""

from datetime import date

import numpy as np
import pytest

from examples.household.meters import DAYS, FIRST_TICK, TICKS, Meters
from fugu.dataflows.policies.course import Course
from fugu.dataflows.policies.document import PolicyDocument
from tests.dataflows.policies.documents import EXAMPLE

HOUSEHOLDS = 600
NIGHT = 4 * 6
"""Ticks, from midnight to four."""


def test_two_cars_among_600_meters_make_nights_useless() -> None:
    document = PolicyDocument.read(EXAMPLE)
    cars = next(one for one in document.section.collections if one.id == "electric-car")
    assert len(cars.applies_to.keys or []) == 2
    course = Course(document, date(2026, 1, 13), DAYS)
    assert (course.start, course.end) == (FIRST_TICK, FIRST_TICK + TICKS - 1)
    found, one = course.attribution, float(document.section.query.resolution)
    nights = [tick for tick in range(TICKS) if tick % 144 < NIGHT]
    truth = Meters(HOUSEHOLDS).totals()[nights].mean()
    noise = [found.at(FIRST_TICK + tick) for tick in nights]
    assert np.mean([all_ask * one for all_ask, _ in noise]) == pytest.approx(132)
    assert 0.7 * truth < 132
    assert all(alone["household"] == 0 for _, alone in noise)
    car, household = found.collections["electric-car"], found.collections["household"]
    assert (found.mean - car.saved) * one < 0.01 * truth
    assert household.saved * one < 0.01 * truth
    assert car.sets_sensitivity == car.sets_affected == car.ticks
    assert household.noise > 4 * household.own
