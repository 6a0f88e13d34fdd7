"""Keep what people were promised, by the examples that once went wrong.

Each of these pipelines released something that it had promised to hide, or could be made useless.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import orjson
import pytest

from fugu.dataflows.policies.changes import UnusableChange
from fugu.operators.mechanism import Inputs
from fugu.operators.swellfish.relevance import Status
from tests.operators.swellfish.running import simulated
from tests.privacy.policies.authors import Letter, Owner
from tests.privacy.policies.household import Figure, Pipeline, pipeline, record, written
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


def mornings(day: datetime, days: int) -> list[int]:
    """Return the ticks from six to nine."""
    return [tick(day) + DAY * n + hour for n in range(days) for hour in (6, 7, 8)]


def home(directory: Path, *wishes: Wish) -> Pipeline:
    return pipeline(directory, written(JUNE, {"home": list(wishes), "cabin": []}))


def figures(household: Pipeline, begin: datetime, days: int, *sent: Sent) -> dict[int, Figure]:
    """Return all figures of some days, of which nobody knows the changes before they are sent."""
    found: dict[int, Figure] = {}
    for now in range(tick(begin), tick(begin) + days * DAY):
        for at, name, wish, effective in sent:
            if tick(at) == now:
                household.change(f"home/{name}".encode(), record(wish, tick(effective)))
        found |= run(household, [now])
    return found


def run(household: Pipeline, ticks: Sequence[int]) -> dict[int, Figure]:
    found: dict[int, Figure] = {}
    for now in ticks:
        found |= dict(household.tick(now, [7, 8]))
    return found


def try_change(household: Pipeline, key: bytes, value: dict[str, Any]) -> None:
    """Send a record, which may be refused where it is read, or later."""
    try:
        household.change(key, orjson.dumps(value))
    except UnusableChange:
        return


@pytest.mark.parametrize("theta", [2, 0])
def test_a_shower_replaced_by_itself_during_a_holiday_stays_hidden(
    theta: int, tmp_path: Path
) -> None:
    holiday = Wish("holiday", Single(moment(6, 1), moment(6, 15)), (theta,))
    again = moment(6, 2, 12), "shower", SHOWER, moment(6, 2, 12)
    undisturbed = figures(home(tmp_path, SHOWER, holiday), moment(6, 1), 14)
    replaced = figures(home(tmp_path, SHOWER, holiday), moment(6, 1), 14, again)
    hidden = mornings(moment(6, 3), 12)
    assert {undisturbed[one].sensitivity for one in hidden} == {10 + theta}
    weaker = [one for one in hidden if replaced[one].sensitivity < 10 + theta]
    exact = [one for one in hidden if replaced[one].status == Status.EXACT]
    assert (len(weaker), len(exact)) == (0, 0)


def test_a_policy_that_is_sent_before_a_holiday_begins_protects_within_it(tmp_path: Path) -> None:
    """Sent on 1 June, in effect from 20 July on, in a holiday from 15 July on."""
    holiday = Wish("holiday", Single(moment(7, 15), moment(7, 30)), (2,))
    sauna = Wish("sauna", Single(moment(7, 22, 20), moment(7, 22, 22)), (5,))
    sent = moment(6, 1), "sauna", sauna, moment(7, 20)
    found = figures(home(tmp_path, holiday), moment(5, 31), 60, sent)
    hidden = [tick(moment(7, 22, 20)), tick(moment(7, 22, 21))]
    assert [found[one].sensitivity for one in hidden] == [7, 7]


@pytest.mark.parametrize("effective", [0, tick(moment(6, 3))])
def test_nobody_takes_a_policy_away_before_the_longest_interval_could_be_over(
    effective: int, tmp_path: Path
) -> None:
    trip = Wish("trip", Single(moment(6, 20), moment(6, 25)), (1,))
    household = home(tmp_path, SHOWER, trip)
    found = run(household, range(tick(moment(6, 2)), tick(moment(6, 3))))
    if effective:
        household.change(b"home/shower", record(None, effective))
    else:
        household.change(b"home/shower", None)
    found |= run(household, range(tick(moment(6, 3)), tick(moment(6, 12))))
    assert {found[one].sensitivity for one in mornings(moment(6, 2), 6)} == {10}
    assert {found[one].sensitivity for one in mornings(moment(6, 9), 2)} == {0}, "then it is gone"


def test_one_record_of_146_bytes_does_not_make_all_figures_useless(tmp_path: Path) -> None:
    """For 999,936 ticks, everybody's whole contribution: until 2045."""
    household, begin = ten_minutes(tmp_path), 6 * tick(moment(1, 31))
    end = moment(2, 1) + timedelta(minutes=10 * 999_936)
    policy = {
        "id": "x",
        "interval": {"start": "2026-02-01T00:00", "end": end.isoformat(timespec="minutes")},
        "pattern": {"ticks": 999_936},
        "theta": 20,
    }
    found = run(household, [begin])
    try_change(household, b"home/x", {"effective": 0, "policy": policy})
    found |= run(household, range(begin + 1, begin + 3 * 6 * DAY))
    assert max(one.sensitivity for one in found.values()) == 10
    errors = [one.standard_error for one in found.values() if one.status == Status.SAMPLED]
    assert max(errors) < 2**0.5 * 10 * 18 * 1.01


@pytest.mark.acceptance
def test_no_collection_takes_the_room_of_another_one(tmp_path: Path) -> None:
    """By as many large records as anybody likes."""
    household, begin = home(tmp_path, SHOWER), tick(moment(6, 1))
    found = run(household, [begin])
    for number in range(100):
        exceptions = 1_200 if number < 70 else 60 if number < 90 else 0
        days = [str(date(2030, 1, 1) + timedelta(days=day)) for day in range(exceptions)]
        calendar = {"days": ["mon"], "start": "06:00", "end": "07:00", "except": days}
        policy = {"id": f"p{number}", "calendar": calendar, "pattern": {"ticks": 1}, "theta": 1}
        try_change(household, b"home/p%d" % number, {"effective": 0, "policy": policy})
    bath = Wish("bath", Single(moment(6, 1, 12), moment(6, 1, 14)), (10,))
    household.change(b"cabin/bath", record(bath, 0))
    found |= run(household, range(begin + 1, begin + DAY))
    assert [found[begin + hour].sensitivity for hour in (12, 13)] == [10, 10]


def test_strangers_leave_room_for_what_an_owner_adds(tmp_path: Path) -> None:
    """They add a hundred policies that hide nothing, and so cost nothing."""
    alice = Owner("alice", bytes(range(32)))
    document = written(JUNE, {"home": [SHOWER], "cabin": []})
    document["collections"][0]["owners"] = [alice.section()]
    household, begin = pipeline(tmp_path, document), tick(moment(6, 1))
    found = run(household, [begin])
    for number in range(120):
        nothing = Wish(f"x{number}", Single(moment(7, 1), moment(7, 1, 2)), (0,))
        household.change(f"home/{nothing.id}".encode(), record(nothing, 0))
    sauna = Wish("sauna", Single(moment(6, 2, 20), moment(6, 2, 22)), (5,))
    letter = alice.sign(Letter(b"home/sauna", record(sauna, 0, sequence=1)))
    household.change(letter.key, letter.value, letter.headers)
    found |= run(household, range(begin + 1, begin + 2 * DAY))
    assert [found[tick(moment(6, 2, hour))].sensitivity for hour in (20, 21)] == [5, 5]


def test_a_tick_costs_little_however_much_was_charged(tmp_path: Path) -> None:
    """With 100,000 different charges it takes 5 times as long as with 100, and once took 2,000."""
    assert seconds_of_a_tick(tmp_path, 100_000) < 50 * seconds_of_a_tick(tmp_path, 100)


def seconds_of_a_tick(directory: Path, charges: int) -> float:
    """Return the least of some rounds, in an interval with so many different charges."""
    ticks, start = 200_000, 6 * tick(moment(1, 1))
    end = moment(1, 1) + timedelta(minutes=10 * ticks)
    stay = {
        "id": "stay",
        "interval": {"start": "2026-01-01T00:00", "end": end.isoformat()},
        "pattern": {"ticks": ticks},
        "theta": 1,
    }
    strategy = ten_minutes(directory, stay).strategy
    state = strategy.elapse(strategy.start(1), np.array([start + charges + 1]))
    runs = [number for charge in range(1, charges + 1) for number in (charge, 1)]
    ledger = [start, start + ticks - 1, ticks, charges, *runs]
    state["ledgers"][0] = np.array(ledger, dtype="<i8").tobytes()
    spent = []
    for _ in range(5):
        begun = process_time()
        state, _ = strategy.step(state, Inputs(np.array([[7]])), simulated(1))
        spent.append(process_time() - begun)
    return min(spent)


def ten_minutes(directory: Path, *more: dict[str, Any]) -> Pipeline:
    """Return a pipeline with ticks of ten minutes, and policies as documents write them."""
    document = written(Grid("UTC", moment(1, 31)), {"home": [SHOWER], "cabin": []})
    document["grid"]["tick"] = "PT10M"
    document["collections"][0]["policies"] += more
    return pipeline(directory, document)
