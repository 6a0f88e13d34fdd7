"""Processes that are killed again and again change no running total, and let nobody count more
often than a personal cap allows."""

from pathlib import Path
from random import Random

import orjson
import pytest

from tests.faults.feeding import PARTITIONS
from tests.faults.killed_shards import Whole, killed_and_undisturbed
from tests.kafka.records import NOW, Placed, Record, read_topic
from tests.kafka.topics import TopicFactory

USERS, TICKS, PERIOD, AT_MOST = 120, 20, 10, 3
SECOND = 1_000
BEGIN = NOW // (PERIOD * SECOND) * PERIOD * SECOND
DISTRICTS = ["harbour", "station"]
OPERATOR = {
    "kind": "running_total",
    "epsilon": 20.0,
    "delta": 1e-3,
    "contributions": {"at_most": AT_MOST, "per": f"{PERIOD}s"},
    "groups": DISTRICTS,
    "ticks": {"width": "1s", "grace": "400ms", "stream_time": {"distinct_keys": 1}},
}


@pytest.mark.acceptance
def test_killed_processes_release_the_same_totals_of_the_same_people(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """Everybody is there in every tick, and counts in the first three of each ten: the total of a
    period, nearly without noise, says whether a restart let anybody count once more."""
    whole = Whole(TICKS * len(DISTRICTS), 0, partials=TICKS * PARTITIONS)
    killed, undisturbed = killed_and_undisturbed(
        bootstrap, topics, tmp_path, rentals(), OPERATOR, whole, kills=2
    )
    series = read_topic(bootstrap, killed["sink"]["topic"])
    assert series == read_topic(bootstrap, undisturbed["sink"]["topic"])
    figures = [orjson.loads(record.value or b"") for record in series[0]]
    assert [(figure["start"], figure["group"]) for figure in figures] == [
        (BEGIN + tick * SECOND, district) for tick in range(TICKS) for district in DISTRICTS
    ]
    assert [figure["position"] for figure in figures[:: len(DISTRICTS)]] == [
        1 + tick % PERIOD for tick in range(TICKS)
    ]
    for period in range(1, 1 + TICKS // PERIOD):
        last = figures[period * PERIOD * len(DISTRICTS) - len(DISTRICTS) :][: len(DISTRICTS)]
        counted = sum(figure["value"] for figure in last)
        error = last[0]["standard_error"]
        assert abs(counted - period * AT_MOST * USERS) < 10 * error
        assert 10 * error < USERS


def rentals() -> list[Placed]:
    """Everybody comes in every tick, a few records twice or out of order, and time goes on."""
    random, timed = Random(7), []
    for tick in range(TICKS):
        for user in range(USERS):
            at = BEGIN + tick * SECOND + random.randrange(450, 900)
            district = DISTRICTS[(user + tick // 5) % len(DISTRICTS)]
            record = Record(b"rider-%d" % user, orjson.dumps({"zone": district, "at": at}))
            copies = 2 if random.random() < 0.05 else 1
            placed = Placed(user % PARTITIONS, record)
            timed += [(at + random.randrange(300), user, placed)] * copies
    for partition in range(PARTITIONS):
        end = orjson.dumps({"zone": "station", "at": BEGIN + (TICKS + 1) * SECOND - 1})
        record = Record(b"rider-%d" % partition, end)
        timed.append((BEGIN + (TICKS + 2) * SECOND, partition, Placed(partition, record)))
    return [placed for *_, placed in sorted(timed, key=lambda entry: entry[:2])]
