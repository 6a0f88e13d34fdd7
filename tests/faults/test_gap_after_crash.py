"""A crash, and then retention: streams follow what was published of records that are gone."""

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from kafka import KafkaAdminClient, TopicPartition

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.flows.orphans import Gap, Outlet, tail_of
from fugu.dataflows.kafka.client import Bounds
from tests.faults.feeding import document_with_topics
from tests.faults.killing import killed_inside
from tests.kafka.clients import connected
from tests.kafka.pipelines import (
    ALPHABET,
    MEMORYLESS,
    Document,
    fugu,
    refusal,
    refused,
    running,
    write_pipeline,
)
from tests.kafka.records import NOW, Placed, Record, produce, read_topic
from tests.kafka.topics import TopicFactory
from tests.thinned import first_in_test

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
    killed_inside("published, no snapshot", 1, "run", pipeline)


def fresh(bootstrap: str, document: Document) -> Counter[bytes]:
    """Count fresh releases of each stream; no release may be there twice."""
    found = Counter[bytes]()
    names = set()
    for topic in read_topic(bootstrap, document["sink"]["topic"]).values():
        for record in topic:
            assert record.headers[0] not in names
            names.add(record.headers[0])
            found[record.key or b""] += not orjson.loads(record.value or b"").get("repeated")
    return found


@dataclass(frozen=True)
class Crashed:
    """A pipeline that crashed behind a release, whose records retention has removed since."""

    document: Document
    pipeline: Path
    early: int
    lost: int

    @property
    def source(self) -> str:
        return str(self.document["source"]["topic"])

    @property
    def migrate(self) -> list[str | Path]:
        return ["migrate", self.pipeline, self.pipeline, "--accept-gap", f"{self.source}:0"]


def crashed_before_a_gap(
    bootstrap: str,
    topics: TopicFactory,
    directory: Path,
    key: str,
    budget: dict[str, Any] | None = None,
) -> Crashed:
    source = topics("private", partitions=2)
    document = document_with_topics(bootstrap, topics, source, partitions=2) | {"name": source}
    document["sink"]["key"] = key
    document["budget"] = {"total": float(PAID)} if budget is None else budget
    pipeline = write_pipeline(directory, document, MEMORYLESS)
    early = records(USERS, 0, BEFORE) + records(ELSEWHERE, 0, BEFORE, partition=1)
    produce(bootstrap, source, early)
    run_until(bootstrap, pipeline, document, len(early))
    lost = records(USERS + NEWCOMERS, BEFORE, LOST)
    produce(bootstrap, source, lost)
    killed_after_publishing(pipeline)
    assert sum(fresh(bootstrap, document).values()) == len(early) + len(lost)
    delete(bootstrap, source, BEFORE * len(USERS) + len(lost))
    return Crashed(document, pipeline, len(early), len(lost))


def delete(bootstrap: str, topic: str, end: int) -> None:
    """Let retention remove what partition 0 holds before an offset."""
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        admin.delete_records({TopicPartition(topic, 0): end})


@pytest.mark.parametrize("key", first_in_test(["pseudonym", "original"], 1))
def test_no_budget_begins_again_when_records_are_gone_that_a_crash_had_released(
    key: str, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    crashed = crashed_before_a_gap(bootstrap, topics, tmp_path, key)
    source, document = crashed.source, crashed.document
    assert f"--accept-gap {source}:0" in refusal(crashed.pipeline)
    assert "Name all of them" in refused(*crashed.migrate, "--accept-gap", f"{source}:1")

    said = " ".join(fugu(*crashed.migrate).split())
    assert f"{crashed.lost} releases whose records are gone were charged" in said
    later = records(USERS + NEWCOMERS, BEFORE + LOST, AFTER)
    later += records(ELSEWHERE, BEFORE, AFTER, partition=1)
    produce(bootstrap, source, later)
    outcomes = crashed.early + crashed.lost + len(later)
    run_until(bootstrap, crashed.pipeline, document, outcomes)

    spent = fresh(bootstrap, document)
    if key == "original":
        assert set(spent.values()) == {PAID}
        return
    assert f"{len(NEWCOMERS)} streams began there" in said
    assert Counter(spent.values()) == {PAID: len(USERS + ELSEWHERE), LOST: len(NEWCOMERS)}
    refusals = read_topic(bootstrap, document["sink"]["dead_letters"])[0]
    reasons = Counter(orjson.loads(letter.value or b"")["reason"] for letter in refusals)
    assert reasons == {"unknown_budget": AFTER * len(NEWCOMERS)}


def test_a_gap_is_not_accepted_where_releases_are_gone_that_nobody_has_charged(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    crashed = crashed_before_a_gap(bootstrap, topics, tmp_path, "pseudonym")
    delete(bootstrap, crashed.document["sink"]["topic"], BEFORE * len(USERS) + 1)
    said = " ".join(refused(*crashed.migrate).split())
    assert "releases that were already published cannot be recognised" in said
    assert f"--accept-gap {crashed.source}:0" in refusal(crashed.pipeline)

    sink = crashed.document["sink"]["topic"]
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        admin.delete_topics([sink])
        while sink in admin.list_topics():
            time.sleep(0.1)
        admin.create_topics({sink: {"num_partitions": 2, "replication_factor": 1}})
    assert "sink_identity changed" in refused(*crashed.migrate)


def test_no_window_is_followed_whose_positions_without_a_release_nobody_can_see(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    budget = {"total": float(PAID), "window": PAID + 1, "when_exhausted": "suppress"}
    crashed = crashed_before_a_gap(bootstrap, topics, tmp_path, "original", budget)
    said = " ".join(refused(*crashed.migrate).split())
    assert f"{crashed.lost} releases belong to records that are gone" in said
    assert "positions without a release are not in the sanitized topic" in said
    assert "Restore the source, or" in said
    assert f"--accept-gap {crashed.source}:0" in refusal(crashed.pipeline)


def test_releases_are_followed_in_the_order_of_their_records_each_once(
    bootstrap: str, topics: TopicFactory
) -> None:
    """A start publishes what is missing behind what was there, and late copies come behind that."""
    sink, order = topics("sanitized"), [12, 11, 13, 11, 4, 15]

    def names(partition: int, offsets: Sequence[int]) -> list[bytes]:
        return [b"%d/%d" % (partition, offset) for offset in offsets]

    def release(position: int) -> Record:
        return Record(b"ada", b"%d" % position, (("fugu-release", names(0, [position])[0]),))

    produce(bootstrap, sink, [Placed(0, release(position)) for position in order])
    client, gap = connected(bootstrap), Gap(0, resumed=10, held=Bounds(14, 20))
    tail = tail_of(client, Outlet(sink, 0, names), 0, gap)
    assert [one.value for one in tail.orphans] == [b"11", b"12", b"13"]
    assert tail.begin == order.index(15)
    with pytest.raises(StartRefused, match="belongs to no record of the source"):
        tail_of(client, Outlet(sink, 0, lambda place, offsets: names(1, offsets)), 0, gap)
    with pytest.raises(StartRefused, match="the topic now holds offsets 0 to 6"):
        tail_of(client, Outlet(sink, 0, names), 7, gap)
