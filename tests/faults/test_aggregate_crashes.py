"""Three processes that are killed again and again release the series of an undisturbed run."""

from pathlib import Path
from random import Random

import orjson

from fugu.dataflows.base.ticks import DISTINCT_KEYS
from tests.faults.feeding import PARTITIONS
from tests.faults.killed_shards import Whole, killed_and_undisturbed
from tests.kafka.records import NOW, Placed, Record, read_topic
from tests.kafka.topics import TopicFactory

USERS, TICKS = 400, 40
SECOND = 1_000
BEGIN = NOW // SECOND * SECOND
ZONES = ["north", "south", "west"]
OPERATOR = {
    "kind": "budget_distribution",
    "epsilon": 1.0,
    "window": 8,
    "groups": ZONES,
    "ticks": {"width": "1s", "grace": "400ms"},
}


def test_killed_processes_release_the_series_of_an_undisturbed_run(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    placed, late = trips()
    whole = Whole((TICKS - 1) * len(ZONES), late, partials=(TICKS - 1) * PARTITIONS)
    killed, undisturbed = killed_and_undisturbed(
        bootstrap, topics, tmp_path, placed, OPERATOR, whole
    )
    series = read_topic(bootstrap, killed["sink"]["topic"])
    assert series == read_topic(bootstrap, undisturbed["sink"]["topic"])
    assert read_topic(bootstrap, killed["sink"]["dead_letters"]) == read_topic(
        bootstrap, undisturbed["sink"]["dead_letters"]
    )
    figures = [orjson.loads(record.value or b"") for record in series[0]]
    starts = [figure["start"] for figure in figures]
    ticks = range(starts[0], BEGIN + (TICKS - 1) * SECOND, SECOND)
    assert BEGIN - SECOND <= ticks[0] <= BEGIN, "a first tick may be one to which nobody came"
    assert [(f["start"], f["group"]) for f in figures] == [(t, z) for t in ticks for z in ZONES]
    assert max(figure["window_epsilon"] for figure in figures) <= 1.0
    assert any(not figure["published"] for figure in figures)
    logs = b"".join(r.value or b"" for r in read_topic(bootstrap, killed["sink"]["partials"])[0])
    assert b"user" not in logs


def trips(users: int = USERS, ticks: int = TICKS, seed: int = 5) -> tuple[list[Placed], int]:
    """Everybody moves about; some records come twice or out of order, and so many late."""
    random, timed, refused = Random(seed), [], 0
    for tick in range(ticks):
        for user in range(users):
            at = BEGIN + tick * SECOND + random.randrange(900)
            late = tick > 3 and random.random() < 0.02
            zone = ZONES[(user + (tick + user) // 7) % len(ZONES)]
            value = orjson.dumps({"zone": zone, "at": at - 3 * SECOND * late})
            record = Record(b"user-%d" % user, value)
            copies = 2 if random.random() < 0.05 else 1
            arrives = at + random.randrange(300)
            refused += late * copies
            timed += [(arrives, user, Placed(user % PARTITIONS, record))] * copies
    for user in range(DISTINCT_KEYS * PARTITIONS):
        end = orjson.dumps({"zone": "west", "at": BEGIN + ticks * SECOND - 1})
        record = Record(b"user-%d" % user, end)
        timed.append((BEGIN + ticks * SECOND, user, Placed(user % PARTITIONS, record)))
    in_order = [placed for *_, placed in sorted(timed, key=lambda entry: entry[:2])]
    return in_order, refused + sum(map(before_time_begins, parts(in_order)))


def parts(placed: list[Placed]) -> list[list[Placed]]:
    return [[one for one in placed if one.partition == part] for part in range(PARTITIONS)]


def before_time_begins(placed: list[Placed]) -> int:
    """Records before so many people have come as move stream time."""
    keys = [one.record.key for one in placed]
    return next(n for n in range(len(keys)) if len(set(keys[: n + 1])) == DISTINCT_KEYS)
