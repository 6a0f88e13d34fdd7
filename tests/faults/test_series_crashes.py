"""Killed in the middle, real-time release measures nothing twice, and no budget is spent twice."""

from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

import orjson

from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from tests.faults.killed_ticks import BEGIN, PARTITIONS, SECOND, killed_in_the_middle
from tests.faults.outcomes import Topic
from tests.kafka.records import Placed, Record
from tests.kafka.topics import TopicFactory

USERS, STEPS, HORIZON = 1_500, 14, 8
RELEASES = USERS * (STEPS - 1)
"""Everybody has a reading in the first tick, and the last tick stays open."""
OPERATOR: dict[str, Any] = {
    "kind": "real_time_local",
    "lower": 40,
    "upper": 180,
    "epsilon": 8.0,
    "delta": 1e-6,
    "horizon": HORIZON,
    "ticks": {"width": "1s", "grace": "300ms", "stream_time": {"distinct_keys": 1}},
}


def drawn() -> list[tuple[int, int, bool]]:
    """Step, user, and whether it is late: nine of ten are there, and 1 in 50 is late."""
    random = Random(7)
    return [
        (step, user, step > 2 and random.random() < 0.02)
        for step in range(STEPS)
        for user in range(USERS)
        if step == 0 or random.random() < 0.9
    ]


def readings() -> list[Placed]:
    return [
        Placed(user % PARTITIONS, Record(b"user-%d" % user, reading(step - 2 * late, user)))
        for step, user, late in drawn()
    ]


def reading(step: int, user: int) -> bytes:
    at = BEGIN + step * SECOND + user * 37 % 900
    return orjson.dumps({"bpm": 60 + step + user % 90, "at": at})


def test_kills_in_the_middle_leave_no_trace(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    late = sum(late for _, _, late in drawn())
    killed = killed_in_the_middle(
        bootstrap,
        topics,
        tmp_path,
        readings(),
        field="bpm",
        operator=OPERATOR,
        releases=RELEASES,
        refused=late,
    )
    mechanism = configure(PipelineFile.read(killed.pipeline)).mechanism
    assert isinstance(mechanism, LocalRealTimeRelease)
    check_every_stream(mechanism, killed.sanitized)


def check_every_stream(mechanism: LocalRealTimeRelease, sanitized: Topic) -> None:
    """One release in every tick, and every measurement is paid for, out of its own budget."""
    streams = defaultdict(list)
    for partition in sanitized.values():
        assert len({record.headers[0] for record in partition}) == len(partition)
        for record in partition:
            streams[record.key].append((record.timestamp, orjson.loads(record.value or b"")))
    assert len(streams) == USERS
    price = mechanism.audit()["charge of the first value in rho"]
    assert isinstance(price, float)
    for releases in streams.values():
        assert [at for at, _ in releases] == [BEGIN + SECOND * n for n in range(1, STEPS)]
        measured = 0
        for _, release in releases:
            measured += release["status"] == "measured"
            assert abs(release["spent_rho"] - measured * price) < 1e-5
        assert measured <= HORIZON
