"""A crash, and then retention: streams follow what was published of records that are gone."""

import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import orjson
import pytest
from kafka import KafkaAdminClient, TopicPartition

from tests.faults.feeding import document_with_topics
from tests.kafka.pipelines import (
    ALPHABET,
    MEMORYLESS,
    SECRET,
    SECRET_VARIABLE,
    Document,
    fugu,
    refusal,
    refused,
    running,
    write_pipeline,
)
from tests.kafka.records import NOW, Placed, Record, produce, read_topic
from tests.kafka.topics import TopicFactory

USERS = [b"user-%d" % number for number in range(8)]
ELSEWHERE = [b"other-%d" % number for number in range(4)]
"""Users of a partition that has lost nothing."""
NEWCOMERS = [b"new-%d" % number for number in range(3)]
BEFORE, LOST, AFTER = 3, 2, 6
"""Records of each user: before the last snapshot, after it and gone, and later ones."""
PAID = 7
"""With a memoryless model a release costs one nat, and so many are paid for."""


def records(keys: list[bytes], first: int, count: int, *, partition: int = 0) -> list[Placed]:
    """Records of everybody in turn, with values and times of their own."""
    return [
        Placed(
            partition,
            Record(
                key,
                b'{"zone": "%b"}' % ALPHABET[(at * at + number) % len(ALPHABET)].encode(),
                timestamp=NOW + at * 100 + number,
            ),
        )
        for at in range(first, first + count)
        for number, key in enumerate(keys)
    ]


def run_until(bootstrap: str, pipeline: Path, document: Document, outcomes: int) -> None:
    """Run until so many releases and dead letters are there, and stop."""
    sink = document["sink"]

    def count() -> int:
        topics = read_topic(bootstrap, sink["topic"]), read_topic(bootstrap, sink["dead_letters"])
        return sum(len(found) for topic in topics for found in topic.values())

    with running(pipeline) as process:
        process.wait_until(lambda: count() >= outcomes)
        assert process.stop() == 0, process.stderr


def killed_after_publishing(pipeline: Path) -> None:
    """Run until the next batch is published, and kill before a snapshot covers it."""
    command = [sys.executable, "-m", "tests.faults.killed_inside", "published, no snapshot", "1"]
    environment = {**os.environ, SECRET_VARIABLE: SECRET}
    ended = subprocess.run([*command, "run", pipeline], env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL


def fresh(bootstrap: str, document: Document) -> Counter[bytes]:
    """How many fresh releases each stream has; no release may be there twice."""
    found = Counter[bytes]()
    names = set()
    for topic in read_topic(bootstrap, document["sink"]["topic"]).values():
        for record in topic:
            assert record.headers[0] not in names
            names.add(record.headers[0])
            found[record.key or b""] += not orjson.loads(record.value or b"").get("repeated")
    return found


@pytest.mark.parametrize("key", ["original", "pseudonym"])
def test_no_budget_begins_again_when_records_are_gone_that_a_crash_had_released(
    key: str, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source = topics("private", partitions=2)
    document = document_with_topics(bootstrap, topics, source, partitions=2) | {"name": source}
    document["sink"]["key"] = key
    document["budget"] = {"total": float(PAID)}
    pipeline = write_pipeline(tmp_path, document, MEMORYLESS)
    migrate: list[str | Path] = ["migrate", pipeline, pipeline, "--accept-gap", f"{source}:0"]

    early = records(USERS, 0, BEFORE) + records(ELSEWHERE, 0, BEFORE, partition=1)
    produce(bootstrap, source, early)
    run_until(bootstrap, pipeline, document, len(early))
    lost = records(USERS + NEWCOMERS, BEFORE, LOST)
    produce(bootstrap, source, lost)
    killed_after_publishing(pipeline)
    assert sum(fresh(bootstrap, document).values()) == len(early) + len(lost)
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        admin.delete_records({TopicPartition(source, 0): BEFORE * len(USERS) + len(lost)})
    assert f"--accept-gap {source}:0" in refusal(pipeline)
    assert "Name all of them" in refused(*migrate, "--accept-gap", f"{source}:1")

    said = " ".join(fugu(*migrate).split())
    assert f"{len(lost)} releases whose records are gone were charged" in said
    later = records(USERS + NEWCOMERS, BEFORE + LOST, AFTER)
    later += records(ELSEWHERE, BEFORE, AFTER, partition=1)
    produce(bootstrap, source, later)
    run_until(bootstrap, pipeline, document, len(early) + len(lost) + len(later))

    spent = fresh(bootstrap, document)
    if key == "original":
        assert set(spent.values()) == {PAID}
        return
    assert f"{len(NEWCOMERS)} streams began there" in said
    assert Counter(spent.values()) == {PAID: len(USERS + ELSEWHERE), LOST: len(NEWCOMERS)}
    refusals = read_topic(bootstrap, document["sink"]["dead_letters"])[0]
    reasons = Counter(orjson.loads(letter.value or b"")["reason"] for letter in refusals)
    assert reasons == {"unknown_budget": AFTER * len(NEWCOMERS)}
