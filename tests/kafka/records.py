"""Putting records into topics and reading topics back whole, on a real broker."""

import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

MAX_REQUEST_BYTES = 8_000_000
FETCH_BYTES = 8_000_000
PATIENCE_SECONDS = 60
NOW = time.time_ns() // 1_000_000
"""Recent: Kafka removes what is older than a topic's retention, by the timestamp it is given."""


@dataclass(frozen=True)
class Record:
    """Hold a record of a topic, with headers and timestamp, because consumers see them too."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    timestamp: int = NOW


@dataclass(frozen=True)
class Placed:
    """A record together with the partition it is meant for."""

    partition: int
    record: Record = field()


def produce(bootstrap: str, topic: str, placed: Iterable[Placed]) -> None:
    """Write records in order, and return once all of them are acknowledged."""
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        acks="all",
        linger_ms=5,
        batch_size=131_072,
        max_request_size=MAX_REQUEST_BYTES,
    )
    with closing(producer):
        sent = [
            producer.send(
                topic,
                value=item.record.value,
                key=item.record.key,
                headers=list(item.record.headers),
                partition=item.partition,
                timestamp_ms=item.record.timestamp,
            )
            for item in placed
        ]
        for future in sent:
            future.get(timeout=30)


def read_topic(
    bootstrap: str, topic: str, isolation_level: str = "read_committed"
) -> dict[int, list[Record]]:
    """Everything a topic holds now, partition by partition."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=FETCH_BYTES,
        isolation_level=isolation_level,
    )
    with closing(consumer):
        partitions = [TopicPartition(topic, p) for p in partitions_of(consumer, topic)]
        ends = consumer.end_offsets(partitions)
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        found: dict[int, list[Record]] = {part.partition: [] for part in partitions}
        while any(consumer.position(part) < ends[part] for part in partitions):
            for part, records in consumer.poll(timeout_ms=200).items():
                found[part.partition] += [
                    Record(r.key, r.value, tuple(r.headers), r.timestamp) for r in records
                ]
        return found


def read_settled(bootstrap: str, topic: str) -> dict[int, list[Record]]:
    """Everything that counts, once nothing of the topic is open any more.

    A commit, or an abort, is answered before its marks are in the partitions.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    levels = ("read_committed", "read_uncommitted")
    with ExitStack() as stack:
        committed, all_of_it = (
            stack.enter_context(
                closing(KafkaConsumer(bootstrap_servers=bootstrap, isolation_level=level))
            )
            for level in levels
        )
        while end_offsets(committed, topic) != end_offsets(all_of_it, topic):
            assert time.monotonic() < deadline, f"a transaction of {topic} stays open"
            time.sleep(0.01)
    return read_topic(bootstrap, topic)


def end_offsets(consumer: KafkaConsumer, topic: str) -> list[int]:
    """The next offset of every partition, in partition order."""
    partitions = [TopicPartition(topic, p) for p in partitions_of(consumer, topic)]
    ends = consumer.end_offsets(partitions)
    return [ends[part] for part in partitions]


def partitions_of(consumer: KafkaConsumer, topic: str) -> Sequence[int]:
    """The partition numbers of a topic that exists, or soon does, in order."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (partitions := consumer.partitions_for_topic(topic)):
        assert time.monotonic() < deadline, f"there is no topic {topic}"
        consumer.topics()
    return sorted(partitions)
