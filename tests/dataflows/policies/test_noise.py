"""Two cars among 600 meters make nights useless, and the attribution says so."""

from datetime import date
from pathlib import Path
from time import process_time

import numpy as np
import pytest

from examples.household.meters import DAYS, FIRST_TICK, TICKS, Meters
from fugu.dataflows.policies.course import Course
from fugu.dataflows.policies.document import PolicyDocument
from tests.dataflows.policies.documents import EXAMPLE, read

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


@pytest.mark.parametrize("collections", [1, 10])
def test_a_week_of_100_policies_takes_less_than_two_seconds(
    collections: int, tmp_path: Path
) -> None:
    """Half a second of one core, where nobody else uses it."""
    lines = [
        "version: 1",
        "grid: {tick: PT10M, zone: Europe/Berlin}",
        "query: {kind: sum, unit: kW, cap: 14.5, resolution: 0.01}",
        "epsilon: 2.0",
        "collections:",
    ]
    days = "days: [mon, tue, wed, thu, fri, sat, sun]"
    for number in range(collections):
        whose = "default: true" if number == 0 else f"keys: [meter-{number}]"
        lines += [f"  - id: c{number}", f"    applies_to: {{{whose}}}", "    policies:"]
        for policy in range(100 // collections):
            start, end = (policy * 7 + number) % 24, (policy * 7 + number + 1 + policy % 9) % 24
            lines += [
                f"      - id: p{policy}",
                f'        calendar: {{{days}, start: "{start:02}:00", end: "{end:02}:30"}}',
                "        pattern: {duration: PT10M}",
                f"        theta: {1 + policy % 7} kW",
            ]
    course = Course(read(tmp_path, "\n".join(lines)), date(2026, 1, 5), 7)
    begin = process_time()
    assert course.attribution.mean > 0.0
    assert course.stretches
    assert process_time() - begin < 2.0
