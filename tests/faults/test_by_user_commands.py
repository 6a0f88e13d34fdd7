"""Commands over the state of a pipeline that writes records by user first keep every budget."""

import shutil
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import orjson
import pytest
from kafka import KafkaAdminClient, TopicPartition

from fugu.dataflows.kafka.partitioner import partition_of
from tests.faults.copies import committed, name_of
from tests.faults.feeding import document_with_topics
from tests.faults.outcomes import published
from tests.faults.test_repartition import extend
from tests.kafka.pipelines import (
    ALPHABET,
    MEMORYLESS,
    Document,
    fugu,
    refused,
    running,
    write_pipeline,
)
from tests.kafka.records import NOW, Placed, Record, produce
from tests.kafka.topics import TopicFactory

USERS = [b"user-%d" % number for number in range(30)]
FEW, MANY, TOTAL = 2, 3, 6
"""Partitions of the topic by user before and after, and nats: every release costs one."""


@dataclass
class Strewn:
    """One pipeline whose producers choose partitions by nothing that has to do with users."""

    bootstrap: str
    document: Document
    path: Path
    outcomes: int = 0
    numbers: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.file = self.write(self.path / "pipeline.yaml", self.document)

    @staticmethod
    def write(path: Path, document: Document) -> Path:
        """Write a pipeline file."""
        return write_pipeline(path.parent, document, MEMORYLESS)

    @property
    def by_user(self) -> str:
        """The internal topic."""
        return f"{self.document['name']}.by-user"

    def record(self, user: bytes, key: bytes | None = None) -> Record:
        """The next record of a user, at a time of its own."""
        number = next(self.numbers)
        zone = ALPHABET[number * number % len(ALPHABET)]
        value = orjson.dumps({"zone": zone, "user": {"id": user.decode()}})
        return Record(key, value, timestamp=NOW + number)

    def send(self, partitions: int = FEW) -> None:
        """One record of everybody, in any partition."""
        placed = [Placed(at % partitions, self.record(user)) for at, user in enumerate(USERS)]
        produce(self.bootstrap, self.document["source"]["topic"], placed)
        self.outcomes += len(USERS)

    def leave_unread(self, partitions: int) -> None:
        """One record of everybody, written by user but not read yet, as when a process died."""
        placed = [
            Placed(partition_of(user, partitions), self.record(user, b"0/%d" % (10**6 + at)))
            for at, user in enumerate(USERS)
        ]
        produce(self.bootstrap, self.by_user, placed)
        self.outcomes += len(USERS)

    def is_done(self) -> bool:
        """Return whether everything that was sent has come to its end."""
        return committed(self.bootstrap, self.document) >= self.outcomes

    def rest(self) -> None:
        """Run with nothing to do, so that it comes to stand behind the marks of transactions."""
        with running(self.file) as process:
            process.wait_until_started()
            time.sleep(2.0)
            assert process.stop() == 0, process.stderr

    def remove_what_is_written(self) -> None:
        """Do what retention does to the internal topic."""
        with KafkaAdminClient(bootstrap_servers=self.bootstrap) as admin:
            places = [TopicPartition(self.by_user, one) for one in range(FEW)]
            admin.delete_records(dict.fromkeys(places, -1))

    def run(self, file: Path | None = None, *options: str) -> str:
        """Run until everything that was sent has come to its end; return what it said."""
        with running(file or self.file, *options) as process:
            process.wait_until(self.is_done)
            assert process.stop() == 0, process.stderr
            return process.stderr

    def require_one_budget_each(self) -> Counter[bytes]:
        """Everybody has paid for as many releases as the budget has room for; return them."""
        sanitized, _ = published(self.bootstrap, self.document)
        every = [record for records in sanitized.values() for record in records]
        assert len({record.headers[0] for record in every}) == len(every), "each has its own id"
        fresh = Counter(
            record.key or b""
            for record in every
            if not orjson.loads(record.value or b"").get("repeated")
        )
        counted = Counter(record.key or b"" for record in every)
        assert fresh == {user: min(TOTAL, counted[user]) for user in USERS}
        return counted


@pytest.fixture
def strewn(bootstrap: str, topics: TopicFactory, tmp_path: Path) -> Strewn:
    source = topics("strewn", partitions=FEW)
    document = document_with_topics(bootstrap, topics, source, partitions=FEW)
    document["name"] = name_of(source)
    document["source"] |= {"key": {"field": "user.id", "repartition": True}, "partitioner": "auto"}
    soon = {"topic.metadata.refresh.interval.ms": 1_000}
    document["kafka"] |= {"client": "librdkafka", "settings": soon}
    document["sink"] |= {"create": True}
    document["state"] |= {"every": "200ms"}
    document["budget"] = {"total": float(TOTAL)}
    document["ledger"] = {"topic": topics("ledger", configs={"cleanup.policy": "compact"})}
    return Strewn(bootstrap, document, tmp_path)


def shown(file: Path) -> list[dict[str, object]]:
    """Return what partitions are said to hold, but for the size of files."""
    rows = orjson.loads(fugu("state", "show", file, "--json"))
    return [{n: value for n, value in row.items() if "bytes" not in n} for row in rows]


@pytest.mark.slow
def test_what_is_lost_is_rebuilt_and_what_is_extended_is_moved_and_driven_again(
    strewn: Strewn, bootstrap: str
) -> None:
    strewn.send()
    strewn.send()
    strewn.run()
    before = shown(strewn.file)
    shutil.rmtree(strewn.path / "state")
    assert f"{len(USERS)} streams from {2 * len(USERS)} releases" in fugu(
        "state", "rebuild", strewn.file
    )
    assert shown(strewn.file) == before
    extend(bootstrap, strewn.by_user, MANY)
    strewn.send()
    assert f"has {MANY} partitions, and this pipeline knows {FEW}" in strewn.run()
    strewn.require_one_budget_each()
    moved = [user for user in USERS if partition_of(user, FEW) != partition_of(user, MANY)]
    strewn.leave_unread(FEW)
    said = fugu("state", "repartition", strewn.file)
    assert f"moved {len(moved)} streams" in said
    assert f"{len(moved)} records that are not read yet are where their keys are no longer" in said
    strewn.send()
    strewn.run()
    _, dead = published(bootstrap, strewn.document)
    letters = [orjson.loads(one.value or b"") for some in dead.values() for one in some]
    assert {(one["topic"], one["reason"]) for one in letters} == {
        (strewn.document["source"]["topic"], "wrong_partition")
    }
    assert len(letters) == len(moved)
    assert f"{len(moved)} released, 0 repeated" in fugu("redrive", strewn.file)
    assert set(strewn.require_one_budget_each().values()) == {5}
    strewn.send()
    strewn.send()
    strewn.run()
    assert set(strewn.require_one_budget_each().values()) == {7}


@pytest.mark.acceptance
def test_a_changed_file_an_extended_source_and_another_store_keep_every_budget(
    strewn: Strewn, bootstrap: str
) -> None:
    strewn.send()
    strewn.run()
    strewn.rest()
    home = {"state": strewn.document["state"] | {"directory": str(strewn.path / "state")}}
    source = strewn.document["source"]
    renamed = home | {"source": source | {"key": {"field": "other", "repartition": True}}}
    grr: Document = {"operator": {"kind": "grr", "alphabet": ALPHABET, "epsilon": 1.0}}
    other = strewn.write(strewn.path / "other" / "pipeline.yaml", strewn.document | renamed | grr)
    said = refused("migrate", strewn.file, other)
    assert "source.key: must stay as it is" in said
    assert "Every stream keeps what it has spent" in fugu("migrate", strewn.file, strewn.file)

    strewn.remove_what_is_written()
    with running(strewn.file) as process:
        process.wait_until_started()
        strewn.send()
        process.wait_until(strewn.is_done)
        extend(bootstrap, source["topic"], MANY)
        strewn.send(MANY)
        process.wait_until(strewn.is_done)
        assert process.stop() == 0, process.stderr

    state = {"store": "kafka", "every": "200ms", "topic": f"{strewn.document['name']}.state"}
    kafka = strewn.write(
        strewn.path / "kafka" / "pipeline.yaml", strewn.document | {"state": state}
    )
    assert f"{len(USERS)} streams are in Kafka now" in fugu("state", "move", strewn.file, kafka)
    strewn.send(MANY)
    strewn.run(kafka)
    assert f"{len(USERS)} streams are in " in fugu("state", "move", kafka, strewn.file)
    strewn.send(MANY)
    strewn.send(MANY)
    strewn.send(MANY)
    strewn.run()
    assert set(strewn.require_one_budget_each().values()) == {TOTAL + 1}
