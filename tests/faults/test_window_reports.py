"""Reports of single streams whose law depends on earlier ones are the same after kills."""

from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from tests.faults.feeding import PARTITIONS, document_with_topics, paced_feed, stream
from tests.faults.killed_ticks import BEGIN, SECOND, killed_in_the_middle
from tests.faults.killed_ticks import PARTITIONS as PARTITIONS_OF_TICKS
from tests.faults.outcomes import check_one_outcome_each, published
from tests.faults.test_crashes import kill, run_until, stop
from tests.kafka.pipelines import ALPHABET, write_pipeline
from tests.kafka.records import Placed, Record
from tests.kafka.topics import TopicFactory

RECORDS = 12_000
USERS, STEPS = 800, 14
OPERATOR: dict[str, Any] = {
    "kind": "pba_ldp",
    "alphabet": ALPHABET,
    "epsilon": 8.0,
    "window": 4,
    "flags": {"matrix": [[0.9, 0.1], [0.1, 0.9]]},
}


def values_after_kills(
    bootstrap: str, topics: TopicFactory, directory: Path, operator: dict[str, Any]
) -> list[bytes]:
    """Run with three kills and without any; return the values, which must be the same bytes."""
    private = stream(RECORDS, seed=31)
    source = topics("private", partitions=PARTITIONS)
    documents = [document_with_topics(bootstrap, topics, source) for _ in range(2)]
    for document in documents:
        document["operator"] = operator
    disturbed, undisturbed = documents
    with paced_feed(bootstrap, disturbed, private) as feed:
        pipeline = write_pipeline(directory / "disturbed", disturbed)
        recognised = [run_until(pipeline, feed, RECORDS * part // 4, kill) for part in (1, 2, 3)]
        recognised.append(run_until(pipeline, feed, RECORDS, stop))
    with paced_feed(bootstrap, undisturbed, private, fed=RECORDS) as watch:
        run_until(write_pipeline(directory / "undisturbed", undisturbed), watch, RECORDS, stop)
    outcome = published(bootstrap, disturbed)
    assert outcome == published(bootstrap, undisturbed)
    check_one_outcome_each(private, *outcome)
    assert max(recognised) > 0
    return [record.value or b"" for records in outcome[0].values() for record in records]


def test_kills_leave_no_trace_in_reports_and_in_what_is_repeated(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    values = values_after_kills(bootstrap, topics, tmp_path, OPERATOR)
    repeated = sum(b'"repeated":true' in value for value in values)
    assert 0 < repeated < len(values)
    assert (
        len({value.partition(b'"epsilon":')[2].rstrip(b"}").split(b",")[0] for value in values})
        == 2
    )


def drawn() -> list[tuple[int, int, bool]]:
    """Return step, user, and whether it is late: half are there, and 1 in 50 of them is late."""
    random = Random(11)
    return [
        (step, user, step > 2 and random.random() < 0.02)
        for step in range(STEPS)
        for user in range(USERS)
        if step == 0 or random.random() < 0.5
    ]


def positions() -> list[Placed]:
    """Return what users say, and a heartbeat in each partition before every step."""
    random, placed, begun = Random(12), list[Placed](), set[int]()
    for step, user, late in drawn():
        if step not in begun:
            begun.add(step)
            beat = Record(b"clock", orjson.dumps({"at": BEGIN + step * SECOND}))
            placed += [Placed(partition, beat) for partition in range(PARTITIONS_OF_TICKS)]
        at = BEGIN + (step - 2 * late) * SECOND + user % 900
        said = orjson.dumps({"zone": random.choice(ALPHABET), "at": at})
        placed.append(Placed(user % PARTITIONS_OF_TICKS, Record(b"user-%d" % user, said)))
    return placed


@pytest.mark.acceptance
def test_kills_leave_no_trace_in_ticks_to_which_half_of_the_users_do_not_come(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """Everybody has a release in every tick but the last, which stays open."""
    ticks = {"width": "1s", "stream_time": {"heartbeats": ["clock"]}}
    killed = killed_in_the_middle(
        bootstrap,
        topics,
        tmp_path,
        positions(),
        field="zone",
        operator={**OPERATOR, "ticks": ticks},
        releases=USERS * (STEPS - 1),
        refused=sum(late for _, _, late in drawn()),
    )
    ends = defaultdict(list)
    for partition in killed.sanitized.values():
        assert len({record.headers[0] for record in partition}) == len(partition)
        for record in partition:
            ends[record.key].append(record.timestamp)
    assert len(ends) == USERS
    every = [BEGIN + SECOND * step for step in range(1, STEPS)]
    assert all(found == every for found in ends.values())


@pytest.mark.acceptance
def test_kills_leave_no_trace_in_the_sets_that_follow_from_releases(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """The belief of `pim` is state; set and surrogate of every release depend on it."""
    section = {"alphabet": ALPHABET, "model": "model.json", "distance": "ordered", "delta": 0.2}
    pim = {"kind": "pim", "epsilon": 2.0, "accept_growing_loss": True, **section}
    values = values_after_kills(bootstrap, topics, tmp_path, pim)
    assert len({value.partition(b'"confidence":')[2] for value in values}) > 10
