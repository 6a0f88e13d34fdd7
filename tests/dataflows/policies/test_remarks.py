"""Remark on what is allowed, and may not be meant."""

from datetime import UTC, date
from pathlib import Path

import pytest

from fugu.dataflows.policies.course import Course
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.remarks import remarks
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
