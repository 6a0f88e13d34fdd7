"""Topics of a mock cluster in this process, and records that confluent-kafka's own calls write."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from confluent_kafka import Producer

from fugu.dataflows.base.batches import Batch, Header
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.kafka.native.consumer import Consumer
from fugu.dataflows.kafka.native.messages import Messages
from fugu.dataflows.kafka.native.self_test import MockCluster
from fugu.dataflows.kafka.native.settings import READING, settings_of

PATIENCE_SECONDS = 30.0

Record = tuple[int, bytes | None, bytes | None, list[Header]]
"""Timestamp, key, value and headers."""


class Topics:
    """Make topics of a cluster, and write to them."""

    def __init__(self, cluster: MockCluster) -> None:
        self.bootstrap = cluster.bootstrap
        self._cluster = cluster
        self._numbers = count()
        settings = {"bootstrap.servers": cluster.bootstrap, "linger.ms": 1, "log_level": 0}
        self._producer = Producer(settings)

    def new(self, partitions: int = 1) -> str:
        name = f"topic-{next(self._numbers)}"
        self._cluster.create_topic(name, partitions)
        return name

    def hold(self, topic: str, records: Iterable[Record], partition: int = 0) -> None:
        for timestamp, key, value, headers in records:
            own: list[Any] = list(headers)
            self._producer.produce(topic, value, key, partition, timestamp=timestamp, headers=own)
        assert self._producer.flush(PATIENCE_SECONDS) == 0

    @contextmanager
    def taking(self, topic: str, *partitions: int) -> Iterator[Messages]:
        settings = settings_of(Connection(self.bootstrap)) | READING
        consumer = Consumer(settings)
        try:
            consumer.assign(topic, dict.fromkeys(partitions or (0,), 0))
            yield Messages(consumer.records)
        finally:
            consumer.close()


def until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def records_of(batches: Iterable[Batch]) -> list[Record]:
    return [record[1:] for batch in batches for record in batch.records()]
