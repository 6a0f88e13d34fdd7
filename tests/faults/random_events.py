"""Everyday events in random order, and an oracle that knows what every stream may have spent."""

from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import orjson
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition

from fugu.dataflows.flows.state_directories import root_directory
from fugu.dataflows.flows.stopped_state import stopped_state
from fugu.dataflows.kafka.partitioner import partition_of
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.budget_units import in_nats
from tests.kafka.pipelines import Document
from tests.kafka.records import Record, partitions_of

Coordinates = tuple[int, int]
"""A partition of the source and an offset."""
SMALLEST = 1e-6
"""A share of what is spent: charges are rounded up."""


@dataclass
class Tail:
    """Read what came to topics since the last time."""

    consumer: KafkaConsumer
    positions: dict[TopicPartition, int] = field(default_factory=dict)

    def read(self, topic: str) -> list[tuple[int, Record]]:
        """Return the new records of a topic and their partitions, each partition in order."""
        self.consumer.topics()
        parts = [TopicPartition(topic, p) for p in partitions_of(self.consumer, topic)]
        ends, found = self.consumer.end_offsets(parts), list[tuple[int, Record]]()
        self.consumer.assign(parts)
        for part in parts:
            self.consumer.seek(part, self.positions.get(part, 0))
        while any(self.consumer.position(part) < ends[part] for part in parts):
            for part, records in self.consumer.poll(timeout_ms=200).items():
                found += [
                    (part.partition, Record(r.key, r.value, tuple(r.headers), r.timestamp))
                    for r in records
                    if r.offset < ends[part]
                ]
        self.positions.update(ends)
        return found


@dataclass
class Oracle:
    """Hold what was sent, what became of it, and what every user has spent for it.

    A record is known by its time, which no other one has.
    """

    sent: dict[int, tuple[bytes, Coordinates]] = field(default_factory=dict)
    at: dict[Coordinates, int] = field(default_factory=dict)
    released: set[int] = field(default_factory=set)
    refused: set[int] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)
    spent: defaultdict[bytes, float] = field(default_factory=lambda: defaultdict(float))
    names: set[bytes] = field(default_factory=set)
    fresh: int = 0

    def send(self, time: int, key: bytes, where: Coordinates) -> None:
        """Note a record."""
        self.sent[time] = key, where
        self.at[where] = time

    def release(self, record: Record, cost: float, total: float) -> None:
        """Take in a release; it is the only one of its record, and within the budget."""
        key, _ = self.sent[record.timestamp]
        assert record.key == key
        assert record.timestamp not in self.released, "one release for each record"
        name = dict(record.headers)["fugu-release"]
        assert name not in self.names, "every release has an id of its own"
        self.names.add(name)
        self.released.add(record.timestamp)
        if not orjson.loads(record.value or b"").get("repeated"):
            self.fresh += 1
            self.spent[key] += cost
        assert self.spent[key] <= total * (1 + SMALLEST), "no budget is exceeded"

    def refuse(self, value: bytes | None) -> None:
        """Take in a dead letter: one for each record, and none of a released one."""
        told = orjson.loads(value or b"")
        assert told["reason"] == "wrong_partition", told
        time = self.at[told["partition"], told["offset"]]
        assert time not in self.refused, "one dead letter for each record"
        assert time not in self.released, "what was released is not refused"
        self.refused.add(time)

    def lose(self, partition: int, first: int, end: int) -> None:
        """Note that retention removed records before they were read."""
        for offset in range(first, end):
            time = self.at[partition, offset]
            assert time not in self.released
            self.gone.add(time)

    @property
    def settled(self) -> int:
        """Return how many records have come to their end."""
        return len(self.released | self.refused | self.gone)

    @property
    def refused_only(self) -> set[int]:
        """Return the records that could be driven again."""
        return self.refused - self.released


@dataclass
class Place:
    """Hold the pipeline, its topics, and how producers send."""

    bootstrap: str
    directory: Path
    document: Document
    model: dict[str, Any]
    random: Random
    tail: Tail
    partitions: int
    producers_hash: str = "murmur2"
    oracle: Oracle = field(default_factory=Oracle)
    counts: Counter[str] = field(default_factory=Counter)
    ends: Counter[int] = field(default_factory=Counter)
    """The next offset of every partition of the source."""

    @property
    def source(self) -> str:
        """Return the name of the private topic."""
        return str(self.document["source"]["topic"])

    @property
    def cost(self) -> float:
        """Return what a fresh release costs now."""
        return float(self.document["operator"]["epsilon"])

    @property
    def total(self) -> float:
        """Return the budget of a stream."""
        return float(self.document["budget"]["total"])

    def home(self, key: bytes) -> int:
        """Return where producers send a key now."""
        hashes: Any = self.producers_hash
        return partition_of(key, self.partitions, hashes)

    def look(self) -> bool:
        """Take in what was published; return whether every record has come to its end.

        Dead letters come first, because a start that follows releases what was refused before.
        """
        for _, record in self.tail.read(self.document["sink"]["dead_letters"]):
            self.oracle.refuse(record.value)
        for _, record in self.tail.read(self.document["sink"]["topic"]):
            self.oracle.release(record, self.cost, self.total)
        return self.oracle.settled == len(self.oracle.sent)

    def check_budgets(self, pipeline: Path) -> None:
        """Compare the state with the oracle: what every user has spent, and that it is once."""
        file = PipelineFile.read(pipeline)
        with stopped_state(root_directory(file).path) as state:
            tables = state.tables(file, configure(file).mechanism)
        keys = {number: set(table.keys) for number, table in tables.items()}
        for key, expected in self.oracle.spent.items():
            live = [number for number in tables if key in keys[number]]
            assert len(live) <= 1, "no key has two budgets"
            where = [tables[number] for number in live] or list(tables.values())
            units = (int(table.gather(table.rows_of([key]))["spent"][0]) for table in where)
            stored = in_nats(max(units))
            assert abs(stored - expected) <= SMALLEST * expected, (stored, expected)

    def delete_until(self, partition: int, offset: int) -> None:
        """Remove the oldest records of a partition, as retention does."""
        with KafkaAdminClient(bootstrap_servers=self.bootstrap) as admin:
            admin.delete_records({TopicPartition(self.source, partition): offset})

    def extend(self, more: int) -> None:
        """Add partitions to the source."""
        self.partitions += more
        with KafkaAdminClient(bootstrap_servers=self.bootstrap) as admin:
            admin.create_partitions({self.source: self.partitions})


def tail_of(bootstrap: str) -> "closing[KafkaConsumer]":
    """Return a consumer of what is committed."""
    return closing(KafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed"))
