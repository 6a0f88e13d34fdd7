"""What people were promised stays so, by the examples that once went wrong.

Each of these pipelines released something that it had promised to hide, or could be made useless.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import numpy as np
import orjson
import pytest

from fugu.dataflows.policies.change import UnusableChange
from fugu.dataflows.policies.document import PolicyDocument
from fugu.operators.mechanism import Inputs
from fugu.operators.swellfish.strategy import Status
from fugu.operators.swellfish.unicorn_ps import UnicornPS
from tests.operators.swellfish.running import simulated
from tests.privacy.policies.household import Figure, Pipeline, read_document, record, written
from tests.privacy.policies.wishes import Daily, Grid, Single, Wish

EVERY_DAY = tuple(range(7))
JUNE = Grid("UTC", datetime(2026, 6, 1))
SHOWER = Wish("shower", Daily(EVERY_DAY, 6, 9), (10,))
DAY = 24
Sent = tuple[datetime, str, Wish | None, datetime]
"""When a record is sent, of which policy, what it puts there, and from when on."""


def moment(month: int, day: int, hour: int = 0) -> datetime:
    return datetime(2026, month, day, hour)


def tick(at: datetime) -> int:
    return int((at - datetime(1970, 1, 1)) / timedelta(hours=1))


def figures(
    document: PolicyDocument, sent: Sequence[Sent], begin: datetime, days: int
) -> dict[int, Figure]:
    """Return all figures of some days, of which nobody knows the changes before they are sent."""
    strategy = UnicornPS(document.policies, 1, 1.0, irrelevant="exact")
    pipeline, found = Pipeline(document, strategy, Random(1)), {}
    for now in range(tick(begin), tick(begin) + days * DAY):
        for at, name, wish, effective in sent:
            if tick(at) == now:
                pipeline.change(f"home/{name}".encode(), record(wish, tick(effective)))
        found |= dict(pipeline.tick(now, [7, 8]))
    return found


def mornings(day: datetime, days: int) -> list[int]:
    """Return the ticks from six to nine."""
    return [tick(day) + DAY * n + hour for n in range(days) for hour in (6, 7, 8)]


def home(directory: Path, *wishes: Wish) -> PolicyDocument:
    return read_document(directory, written(JUNE, {"home": list(wishes), "cabin": []}))


@pytest.mark.parametrize("theta", [2, 0])
def test_a_shower_replaced_by_itself_during_a_holiday_stays_hidden(
    theta: int, tmp_path: Path
) -> None:
    holiday = Wish("holiday", Single(moment(6, 1), moment(6, 15)), (theta,))
    document = home(tmp_path, SHOWER, holiday)
    again = moment(6, 2, 12), "shower", SHOWER, moment(6, 2, 12)
    undisturbed = figures(document, [], moment(6, 1), 14)
    replaced = figures(document, [again], moment(6, 1), 14)
    hidden = mornings(moment(6, 3), 12)
    assert {undisturbed[one].sensitivity for one in hidden} == {10 + theta}
    weaker = [one for one in hidden if replaced[one].sensitivity < 10 + theta]
    exact = [one for one in hidden if replaced[one].status == Status.EXACT]
    assert (len(weaker), len(exact)) == (0, 0)


def test_a_policy_that_is_sent_before_a_holiday_begins_protects_within_it(tmp_path: Path) -> None:
    """Sent on 1 June, in effect from 20 July on, in a holiday from 15 July on."""
    holiday = Wish("holiday", Single(moment(7, 15), moment(7, 30)), (2,))
    document = home(tmp_path, holiday)
    sauna = Wish("sauna", Single(moment(7, 22, 20), moment(7, 22, 22)), (5,))
    sent = moment(6, 1), "sauna", sauna, moment(7, 20)
    found = figures(document, [sent], moment(5, 31), 60)
    hidden = [tick(moment(7, 22, 20)), tick(moment(7, 22, 21))]
    assert [found[one].sensitivity for one in hidden] == [7, 7]


def test_a_tombstone_by_anybody_takes_nothing_away_at_once(tmp_path: Path) -> None:
    document = home(tmp_path, SHOWER)
    now = tick(moment(6, 3, 1))
    strategy = UnicornPS(document.policies, 1, 1.0, irrelevant="exact")
    pipeline, found = Pipeline(document, strategy, Random(1)), {}
    for one in range(now - DAY, now + DAY):
        if one == now:
            pipeline.change(b"home/shower", None)
        found |= dict(pipeline.tick(one, [7, 8]))
    begun = [one for one in mornings(moment(6, 3), 1) if found[one].sensitivity < 10]
    early = [one for one in begun if one < now + 3]
    assert early == [], "it is announced for as long as the longest interval of the document"
    longer = home(tmp_path, SHOWER, Wish("trip", Single(moment(6, 20), moment(6, 25)), (1,)))
    gone = moment(6, 3, 1), "shower", None, moment(6, 3, 1)
    told = figures(longer, [gone], moment(6, 2), 9)
    assert {told[one].sensitivity for one in mornings(moment(6, 3), 5)} == {10}
    assert {told[one].sensitivity for one in mornings(moment(6, 9), 2)} == {0}, "then it is gone"


def test_one_record_of_146_bytes_does_not_make_all_figures_useless(tmp_path: Path) -> None:
    """For 999,936 ticks, everybody's whole contribution: until 2045."""
    document = ten_minutes(tmp_path)
    end = datetime(2026, 2, 1) + timedelta(minutes=10 * 999_936)
    policy = {
        "id": "x",
        "interval": {"start": "2026-02-01T00:00", "end": end.isoformat(timespec="minutes")},
        "pattern": {"ticks": 999_936},
        "theta": 20,
    }
    content = orjson.dumps({"effective": 0, "policy": policy})
    assert len(content) < 150
    strategy = UnicornPS(document.policies, 1, 1.0, irrelevant="exact")
    pipeline, begin = Pipeline(document, strategy, Random(1)), tick(datetime(2026, 1, 31)) * 6
    found = dict(pipeline.tick(begin, [7, 8]))
    try_change(pipeline, b"home/x", content)
    for one in range(begin + 1, begin + 3 * 6 * DAY):
        found |= dict(pipeline.tick(one, [7, 8]))
    assert max(one.sensitivity for one in found.values()) == 10
    errors = [one.standard_error for one in found.values() if one.status == Status.SAMPLED]
    assert max(errors) < 2**0.5 * 10 * 18 * 1.01


def test_no_collection_can_take_the_room_of_another_one(tmp_path: Path) -> None:
    """By as many large records as anybody likes."""
    document = home(tmp_path, SHOWER)
    strategy = UnicornPS(document.policies, 1, 1.0, irrelevant="exact")
    pipeline, begin = Pipeline(document, strategy, Random(1)), tick(moment(6, 1))
    list(pipeline.tick(begin, [7, 8]))
    for number in range(100):
        exceptions = 1_200 if number < 70 else 60 if number < 90 else 0
        days = [str(date(2030, 1, 1) + timedelta(days=day)) for day in range(exceptions)]
        calendar = {"days": ["mon"], "start": "06:00", "end": "07:00", "except": days}
        policy = {"id": f"p{number}", "calendar": calendar, "pattern": {"ticks": 1}, "theta": 1}
        content = orjson.dumps({"effective": 0, "policy": policy})
        try_change(pipeline, b"home/p%d" % number, content)
    bath = Wish("bath", Single(moment(6, 1, 12), moment(6, 1, 14)), (20,))
    pipeline.change(b"cabin/bath", record(bath, 0))
    found: dict[int, Figure] = {}
    for one in range(begin + 1, begin + DAY):
        found |= dict(pipeline.tick(one, [7, 8]))
    assert [found[begin + hour].sensitivity for hour in (12, 13)] == [20, 20]


def test_a_tick_costs_little_however_much_was_charged(tmp_path: Path) -> None:
    """An interval with 100,000 different charges."""
    charges, ticks = 100_000, 200_000
    start = tick(moment(1, 1)) * 6
    document = ten_minutes(tmp_path, years=4)
    strategy = UnicornPS(document.policies, 1, 1.0)
    state = strategy.start(1)
    state = strategy.elapse(state, np.array([start + charges + 1]))
    runs = [number for charge in range(1, charges + 1) for number in (charge, 1)]
    content = np.array([start, start + ticks - 1, ticks, charges, *runs], dtype="<i8").tobytes()
    state["ledgers"][0] = content
    spent = []
    for _ in range(5):
        begun = process_time()
        state, _ = strategy.step(state, Inputs(np.array([[7]])), simulated(1))
        spent.append(process_time() - begun)
    assert min(spent) < 0.02


def ten_minutes(directory: Path, years: int = 0) -> PolicyDocument:
    """Return a document with ticks of ten minutes, as that of the example."""
    document = written(Grid("UTC", moment(1, 31)), {"home": [SHOWER], "cabin": []})
    document["grid"]["tick"] = "PT10M"
    if years:
        document["collections"][0]["policies"].append(
            {
                "id": "stay",
                "interval": {"start": "2026-01-01T00:00", "end": "2029-10-21T21:20"},
                "pattern": {"ticks": 200_000},
                "theta": 1,
            }
        )
    return read_document(directory, document)


def try_change(pipeline: Pipeline, key: bytes, value: Any) -> None:
    """Send a record, which may be refused where it is read, or later."""
    try:
        pipeline.change(key, value)
    except UnusableChange:
        return
