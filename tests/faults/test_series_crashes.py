"""Killed in the middle, real-time release measures nothing twice, and no budget is spent twice."""

from collections import defaultdict
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import orjson
from kafka import KafkaConsumer

from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from tests.faults.feeding import document_with_topics
from tests.faults.outcomes import Topic, published
from tests.kafka.pipelines import Document, RunningPipeline, running, write_pipeline
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce
from tests.kafka.topics import TopicFactory

PARTITIONS, USERS, STEPS, HORIZON = 2, 1_500, 14, 8
SECOND = 1_000
BEGIN = NOW // SECOND * SECOND
RELEASES = USERS * (STEPS - 1)
"""Everybody has a reading in the first tick, and the last tick stays open."""
SHARES_AT_KILLS = (0.2, 0.6)
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
    source = topics("private", partitions=PARTITIONS)
    produce(bootstrap, source, readings())
    disturbed, undisturbed = (
        document_with_topics(bootstrap, topics, source, partitions=PARTITIONS) for _ in range(2)
    )
    for document in (disturbed, undisturbed):
        document["source"] |= {"value": "bpm", "timestamp": {"field": "at", "format": "epoch-ms"}}
        document["operator"] = OPERATOR
        document["state"]["every"] = "200ms"
    here = write_pipeline(tmp_path / "disturbed", disturbed)
    there = write_pipeline(tmp_path / "undisturbed", undisturbed)

    with running(there) as undisturbed_run:
        for share in SHARES_AT_KILLS:
            with running(here) as run:
                wait_for(bootstrap, run, disturbed, int(share * RELEASES))
                run.kill()
        with running(here) as run:
            wait_for_the_end(bootstrap, run, disturbed)
            assert run.stop() == 0, run.stderr
        wait_for_the_end(bootstrap, undisturbed_run, undisturbed)
        assert undisturbed_run.stop() == 0, undisturbed_run.stderr

    sanitized, dead_letters = published(bootstrap, disturbed)
    assert (sanitized, dead_letters) == published(bootstrap, undisturbed)
    assert sum(map(len, dead_letters.values())) == sum(late for _, _, late in drawn())
    mechanism = configure(PipelineFile.read(here)).mechanism
    assert isinstance(mechanism, LocalRealTimeRelease)
    check_every_stream(mechanism, sanitized)


def wait_for(bootstrap: str, run: RunningPipeline, document: Document, releases: int) -> None:
    """Until so much is published, by this run and those before it."""
    wait_for_records(bootstrap, run, document["sink"]["topic"], releases)


def wait_for_the_end(bootstrap: str, run: RunningPipeline, document: Document) -> None:
    """Until all releases and all dead letters are published: what is late closes no tick."""
    wait_for(bootstrap, run, document, RELEASES)
    late = sum(late for _, _, late in drawn())
    wait_for_records(bootstrap, run, document["sink"]["dead_letters"], late)


def wait_for_records(bootstrap: str, run: RunningPipeline, topic: str, count: int) -> None:
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        run.wait_until(lambda: sum(end_offsets(consumer, topic)) >= count)


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
