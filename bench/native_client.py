"""Measure the CPU time of a record from the socket to the socket: confluent-kafka's Python calls
beside librdkafka called from compiled code. Both pass records on with two headers."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count, islice
from statistics import median
from typing import Any, cast

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.columns import HeaderColumns, OptionalByteColumn
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.kafka.native.settings import READING, WRITING, settings_of
from fugu.operators.columns import ByteColumn
from tests.kafka.topics import TopicFactory

_PARTITIONS = 4
_BATCH = 10_000
_ID = b"0123456789abcdef"
_BY = b"fugu"
_VALUE = b'{"zone":"light","at":"2026-01-01T00:00:00.000Z","device":"watch-0042","more":"%08d"}'


@dataclass(frozen=True)
class Cost:
    """Hold CPU microseconds per record of the thread that passes records on, and of all."""

    thread: float
    process: float


def measure_clients(bootstrap: str, records: int, rounds: int) -> dict[str, list[Cost]]:
    """Measure both ways in turns, over the same records."""
    topics = TopicFactory(bootstrap)
    source = topics("source", partitions=_PARTITIONS)
    client = client_of(Connection(bootstrap, client="librdkafka"))
    _fill(client, source, records)
    ways: dict[str, Callable[[str], None]] = {
        "confluent-kafka": lambda sink: _pass_by_messages(bootstrap, source, sink, records),
        "compiled code": lambda sink: _pass_by_columns(client, source, sink, records),
    }
    costs: dict[str, list[Cost]] = {name: [] for name in ways}
    for pass_on in ways.values():
        pass_on(topics("warm-up", partitions=_PARTITIONS))
    for _ in range(rounds):
        for name, pass_on in ways.items():
            sink = topics("sink", partitions=_PARTITIONS)
            began = time.thread_time(), time.process_time()
            pass_on(sink)
            thread, process = time.thread_time() - began[0], time.process_time() - began[1]
            costs[name].append(Cost(thread / records * 1e6, process / records * 1e6))
    return costs


def costs_in_words(costs: dict[str, list[Cost]]) -> Iterator[str]:
    """Yield a line for each way: medians, and ranges in brackets."""
    for name, rounds in costs.items():
        thread, process = ([vars(cost)[kind] for cost in rounds] for kind in ("thread", "process"))
        yield (
            f"{name:16} thread {median(thread):.2f} ({min(thread):.2f} to {max(thread):.2f})  "
            f"process {median(process):.2f} ({min(process):.2f} to {max(process):.2f}) µs a record"
        )


def _fill(client: Client, topic: str, records: int) -> None:
    with closing(client.writer()) as writer:
        numbers = count()
        for begin in range(0, records, _BATCH):
            own = list(islice(numbers, min(_BATCH, records - begin)))
            keys = [b"user-%06d" % (number % 5_000) for number in own]
            values = [_VALUE % number for number in own]
            partition = begin // _BATCH % _PARTITIONS
            times = [1_700_000_000_000 + number for number in own]
            writer.write(topic, Outgoing(partition, keys, values, [[]] * len(own), times))
        writer.flush()


def _pass_by_messages(bootstrap: str, source: str, sink: str, records: int) -> None:
    settings = settings_of(Connection(bootstrap)) | {"log_level": 0}
    consumer, producer = Consumer(settings | READING), Producer(settings | WRITING)
    consumer.assign([TopicPartition(source, partition, 0) for partition in range(_PARTITIONS)])
    produce: Any = producer.produce
    headers = [("id", _ID), ("by", _BY)]
    passed = 0
    while passed < records:
        for message in consumer.consume(_BATCH, 0.1):
            if message.error() is not None:
                continue
            passed += 1
            given = sink, message.value(), message.key(), message.partition()
            while True:
                try:
                    produce(*given, timestamp=message.timestamp()[1], headers=headers)
                    break
                except BufferError:
                    producer.poll(0.01)
        producer.poll(0)
    assert producer.flush(60) == 0
    consumer.close()


def _pass_by_columns(client: Client, source: str, sink: str, records: int) -> None:
    with closing(client.reader(source)) as reader, closing(client.writer()) as writer:
        reader.assign(dict.fromkeys(range(_PARTITIONS), 0))
        passed = 0
        while passed < records:
            batches = reader.poll(_BATCH)
            for batch in batches:
                size = len(batch.offsets)
                ids = ByteColumn.of_table(np.tile(np.frombuffer(_ID, dtype=np.uint8), (size, 1)))
                values = cast(OptionalByteColumn, batch.values).present
                assert values is not None
                writer.write(
                    sink,
                    Outgoing(
                        batch.partition,
                        batch.keys,
                        values,
                        HeaderColumns(size, {"id": ids, "by": _BY}),
                        batch.timestamps,
                    ),
                )
                passed += size
            if not batches:
                time.sleep(0.002)
        writer.flush()
