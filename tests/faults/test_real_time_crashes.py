"""Processes that are killed again and again neither change a series under one budget nor what it
has cost."""

from pathlib import Path
from random import Random

import orjson
import pytest

from fugu.operators.budget_units import in_nats
from fugu.operators.realtime.account import exact_budget
from tests.faults.feeding import PARTITIONS
from tests.faults.killed_shards import Whole, killed_and_undisturbed
from tests.kafka.records import NOW, Placed, Record, read_topic
from tests.kafka.topics import TopicFactory

USERS, TICKS, HORIZON = 200, 40, 25
NOBODY = {9, 10, 11, 30}
"""Ticks to which nobody comes."""
SECOND = 1_000
BEGIN = NOW // SECOND * SECOND
DISTRICTS = ["harbour", "old-town", "station"]
EPSILON, DELTA = 3.0, 1e-6
OPERATOR = {
    "kind": "real_time",
    "epsilon": EPSILON,
    "delta": DELTA,
    "horizon": HORIZON,
    "groups": DISTRICTS,
    "ticks": {"width": "1s", "grace": "400ms", "stream_time": {"distinct_keys": 1}},
}


def test_killed_processes_release_the_same_series_and_spend_the_same_budget(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    placed, late = rentals()
    whole = Whole(TICKS * len(DISTRICTS), late, partials=TICKS * PARTITIONS)
    killed, undisturbed = killed_and_undisturbed(
        bootstrap, topics, tmp_path, placed, OPERATOR, whole
    )
    series = read_topic(bootstrap, killed["sink"]["topic"])
    assert series == read_topic(bootstrap, undisturbed["sink"]["topic"])
    assert read_topic(bootstrap, killed["sink"]["dead_letters"]) == read_topic(
        bootstrap, undisturbed["sink"]["dead_letters"]
    )
    figures = [orjson.loads(record.value or b"") for record in series[0]]
    assert [(figure["start"], figure["group"]) for figure in figures] == [
        (BEGIN + tick * SECOND, district) for tick in range(TICKS) for district in DISTRICTS
    ]
    one = figures[0]["spent_rho"]
    for at, figure in enumerate(figures):
        tick = at // len(DISTRICTS)
        assert figure["status"] == ("measured" if tick < HORIZON else "predicted")
        assert figure["budget_exhausted"] == (tick >= HORIZON)
        assert figure["spent_rho"] == pytest.approx(one * min(tick + 1, HORIZON))
    assert figures[-1]["spent_rho"] <= in_nats(exact_budget(EPSILON, DELTA)) < one * (HORIZON + 1)


def rentals() -> tuple[list[Placed], int]:
    """People come in most ticks; some records come twice or out of order, and so many late."""
    random, timed, refused = Random(7), [], 0
    for tick in sorted(set(range(TICKS)) - NOBODY):
        for user in range(USERS):
            at = BEGIN + tick * SECOND + random.randrange(450, 900)
            late = tick > 3 and tick - 1 not in NOBODY and random.random() < 0.03
            district = DISTRICTS[(user + tick // 5) % len(DISTRICTS)]
            value = orjson.dumps({"zone": district, "at": at - 3 * SECOND * late})
            record = Record(b"rider-%d" % user, value)
            copies = 2 if random.random() < 0.05 else 1
            arrives = at + random.randrange(300)
            refused += late * copies
            timed += [(arrives, user, Placed(user % PARTITIONS, record))] * copies
    for partition in range(PARTITIONS):
        end = orjson.dumps({"zone": "station", "at": BEGIN + (TICKS + 1) * SECOND - 1})
        record = Record(b"rider-%d" % partition, end)
        timed.append((BEGIN + (TICKS + 2) * SECOND, partition, Placed(partition, record)))
    return [placed for *_, placed in sorted(timed, key=lambda entry: entry[:2])], refused
