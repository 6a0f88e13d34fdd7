"""Remark on what is allowed, and may not be meant."""

from dataclasses import replace
from datetime import UTC, date
from pathlib import Path
from time import process_time

import numpy as np
import pytest

from examples.household.meters import DAYS, FIRST_TICK, TICKS, Meters
from fugu.dataflows.policies.course import Course
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.remarks import remarks
from fugu.operators.mechanism import Floats, Inputs, Integers
from fugu.operators.randomness import DrawScope, Secret, tick_position
from fugu.operators.swellfish.attribution import attribution
from fugu.operators.swellfish.interval_strategies import Unicorn
from fugu.operators.swellfish.timeline import Policies
from tests.dataflows.policies.documents import DOCUMENT, EXAMPLE, read, with_change

HOURS = 'start: "06:00", end: "09:00"'
INTERVAL = "{start: 2026-07-18T12:00, end: 2026-07-18T13:00}"


def said(document: PolicyDocument) -> list[tuple[str, str]]:
    return [(one.about, one.says) for one in remarks(Course(document, date(2026, 1, 1), 366))]


def test_the_example_needs_none() -> None:
    assert said(PolicyDocument.read(EXAMPLE)) == []


def test_a_collection_without_policies_hides_nothing(tmp_path: Path) -> None:
    assert said(read(tmp_path)) == [("shop", "has no policies: it hides nothing")]


def test_without_a_default_some_have_no_policies(tmp_path: Path) -> None:
    document = read(tmp_path, with_change("{default: true}", "{keys: [a]}"))
    text = "none is the default: who is not named in keys has no policies"
    assert said(document)[0] == ("collections", text)


@pytest.mark.parametrize(
    ("old", "new", "about", "says"),
    [
        (HOURS, f"{HOURS}, from: 2026-01-06, until: 2026-01-08", "shower", "never occurs; look"),
        (
            "{duration: PT10M}",
            "{duration: PT4H}",
            "shower",
            "its pattern of 25 ticks is longer than its interval of 18 ticks: what goes on outside",
        ),
        (
            "2.2 kW",
            "14.51 kW",
            "shower",
            "theta is more than an individual can change at all, 14.5",
        ),
        (
            HOURS,
            'start: "06:00", end: "06:00"',
            "shower",
            "from 06:00 to 06:00 is a whole day, to the next one",
        ),
        ("2.2 kW", "0", "shower", "theta is 0: it hides nothing"),
        (
            f"[mon, fri], {HOURS}",
            '[sun], start: "02:30", end: "09:00"',
            "shower",
            "start: clocks skip 2026-03-29 02:30; taken as 2026-03-29 00:30 UTC, the earlier "
            "moment it may mean (and 1 time more)",
        ),
        (
            f"[mon, fri], {HOURS}",
            '[sat], start: "22:00", end: "02:10"',
            "shower",
            "end: clocks skip 2026-03-29 02:10; taken as 2026-03-29 01:10 UTC, the later moment "
            "it may mean (and 1 time more)",
        ),
        (
            INTERVAL,
            "{start: 2026-10-25T02:15, end: 2026-10-25T04:00}",
            "holiday",
            "start: clocks show twice 2026-10-25 02:15; taken as 2026-10-25 00:15 UTC, the earlier "
            "moment it may mean",
        ),
    ],
)
def test_a_policy_is_remarked_on_by_name(
    old: str, new: str, about: str, says: str, tmp_path: Path
) -> None:
    name, text = said(read(tmp_path, with_change(old, new)))[0]
    assert name == f"household/{about}"
    assert text.startswith(says)


@pytest.mark.parametrize("name", ["start", "end"])
def test_what_is_said_of_clocks_is_what_the_interval_does(name: str, tmp_path: Path) -> None:
    other = {"start": "end: 2026-10-26T00:00", "end": "start: 2026-10-24T00:00"}[name]
    interval = f"{{{name}: 2026-10-25T02:20, {other}}}"
    document = read(tmp_path, DOCUMENT.replace(INTERVAL, interval))
    occurrence = next(document.policies.collections[0].policies[1].occurrences(0, 600_000))
    tick = occurrence.start if name == "start" else occurrence.end + 1
    taken = {"start": "00:20 UTC", "end": "01:20 UTC"}[name]
    assert taken in said(document)[0][1]
    assert f"{document.begin(tick).astimezone(UTC):%H:%M UTC}" == taken


# Two cars among 600 meters make nights useless, and the attribution says so.


HOUSEHOLDS, RUNS = 600, 30
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


def errors_of(policies: Policies, truth: Integers) -> Floats:
    """Return what `unicorn` errs at every tick, in the mean of some runs, in units."""
    unicorn = Unicorn(policies, 1, 2.0, irrelevant="exact")
    scope = DrawScope(Secret(bytes(32)), "trial", "unicorn", 2, unicorn.law_digest())
    streams = [b"%d" % run for run in range(RUNS)]
    state = unicorn.elapse(unicorn.start(RUNS), np.full(RUNS, FIRST_TICK))
    errors = []
    for tick, figure in enumerate(truth.tolist()):
        draws = scope.draws(streams, [tick_position("trial", tick)] * RUNS)
        state, releases = unicorn.step(state, Inputs(np.full((RUNS, 1), figure)), draws)
        errors.append(np.abs(releases.values - figure).mean())
    return np.array(errors)


def test_where_protected_figures_err_by_half_their_mean_and_little_without_the_cars() -> None:
    document = PolicyDocument.read(EXAMPLE)
    policies, one = document.policies, float(document.section.query.resolution)
    truth = np.rint(Meters(HOUSEHOLDS).totals() / one).astype(np.int64)
    without = replace(policies, collections=policies.collections[:1])
    assert [collection.id for collection in without.collections] == ["household"]
    errors = []
    for each in (policies, without):
        found = attribution(each, FIRST_TICK, FIRST_TICK + TICKS - 1, 2.0)
        hidden = np.repeat(found.noise, found.widths) > 0
        errors.append(errors_of(each, truth)[hidden].mean() * one)
    mean = truth.mean() * one
    assert mean == pytest.approx(249, abs=1)
    assert errors[0] > 0.4 * mean
    assert errors[1] < 0.05 * mean


def document_of(policies: int, collections: int, folder: Path) -> PolicyDocument:
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
        for policy in range(policies // collections):
            start, end = (policy * 7 + number) % 24, (policy * 7 + number + 1 + policy % 9) % 24
            lines += [
                f"      - id: p{policy}",
                f'        calendar: {{{days}, start: "{start:02}:00", end: "{end:02}:30"}}',
                "        pattern: {duration: PT10M}",
                f"        theta: {1 + policy % 7} kW",
            ]
    return read(folder, "\n".join(lines))


def seconds_of_a_week(document: PolicyDocument) -> float:
    """The least of some rounds."""
    rounds = []
    for _ in range(3):
        course, begin = Course(document, date(2026, 1, 5), 7), process_time()
        assert course.attribution.mean > 0.0
        assert course.stretches
        rounds.append(process_time() - begin)
    return min(rounds)


@pytest.mark.parametrize("collections", [1, 10])
def test_the_time_for_a_week_does_not_grow_with_the_square_of_policies(
    collections: int, tmp_path: Path
) -> None:
    """Eight times as many take 12 to 18 times as long, and would take 64 times."""
    few, many = (document_of(policies, collections, tmp_path) for policies in (30, 240))
    assert seconds_of_a_week(many) < 32 * seconds_of_a_week(few)
