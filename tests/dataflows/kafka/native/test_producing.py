"""Whatever librdkafka answers, headers and errors are freed exactly once."""

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any, cast

import numpy as np
import pytest
from confluent_kafka import KafkaError

from fugu.dataflows.base.batches import Header, Outgoing
from fugu.dataflows.kafka.native import producing
from fugu.dataflows.kafka.native.handle import producer_of
from fugu.dataflows.kafka.native.library import library
from fugu.dataflows.kafka.native.outgoing_table import OutgoingTable, tables_of
from fugu.dataflows.kafka.native.producing import Destination, produce
from tests.dataflows.kafka.native.cluster import TOPIC, FaultyCluster
from tests.dataflows.kafka.native.counted import Counted
from tests.kafka.clients import connected

HEADERS: list[Header] = [("one", b"1"), ("two", b"2")]
ROOM = 10


@pytest.fixture
def destination() -> Iterator[Destination]:
    """A producer without a broker, which has room for a few records."""
    producer = producer_of({"queue.buffering.max.messages": ROOM})
    topic = library().rd_kafka_topic_new(producer, b"topic", None)
    end = np.zeros(1, dtype=np.int64)
    yield Destination(producer, topic, 0, int(end.ctypes.data))
    library().rd_kafka_topic_destroy(topic)
    library().rd_kafka_destroy(producer)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    monkeypatch.setattr(producing, "_produce", cast(Any, producing._produce).py_func)
    return Counted(monkeypatch, producing)


def table(count: int, headers: list[Header], value: bytes = b"value") -> OutgoingTable:
    outgoing = Outgoing(0, [None] * count, [value] * count, [headers] * count, [1] * count)
    return next(tables_of(outgoing))


def test_what_there_is_no_room_for_is_left(destination: Destination) -> None:
    records = table(3 * ROOM, HEADERS)
    assert produce(destination, records, 0) == (ROOM, KafkaError._QUEUE_FULL)
    assert produce(destination, records, ROOM) == (ROOM, KafkaError._QUEUE_FULL)
    assert produce(destination, records, 3 * ROOM) == (3 * ROOM, 0)


@pytest.mark.parametrize("headers", [HEADERS, []])
@pytest.mark.parametrize(
    ("count", "value", "taken", "error"),
    [
        (ROOM // 2, b"value", ROOM // 2, 0),
        (2 * ROOM, b"value", ROOM, KafkaError._QUEUE_FULL),
        (1, b"x" * 2_000_000, 0, KafkaError.MSG_SIZE_TOO_LARGE),
    ],
)
def test_what_librdkafka_does_not_take_is_freed(
    destination: Destination,
    counted: Counted,
    headers: list[Header],
    count: int,
    value: bytes,
    taken: int,
    error: int,
) -> None:
    assert produce(destination, table(count, headers, value), 0) == (taken, error)
    tried, refused = taken + (error != 0), int(error != 0)
    made = tried if headers else 0
    assert counted.calls["rd_kafka_produceva"] == tried
    assert counted.calls["rd_kafka_headers_new"] == made
    assert counted.calls["rd_kafka_header_add"] == made * len(headers)
    assert counted.calls["rd_kafka_headers_destroy"] == (refused if headers else 0)
    assert counted.found["rd_kafka_produceva"] == counted.calls["rd_kafka_error_destroy"] == refused


def test_librdkafka_takes_timestamp_0_for_now(cluster: FaultyCluster) -> None:
    """It is why other clients write what is of 1970-01-01T00:00:00.000."""
    before = time.time_ns() // 1_000_000
    with closing(cluster.writer()) as writer:
        to = Destination(
            writer._producer,
            writer._reports.topic(TOPIC),
            0,
            writer._reports.place_of_end(TOPIC, 0),
        )
        at_zero = Outgoing(0, [None], [b"value"], [[]], [0])
        assert produce(to, next(tables_of(at_zero)), 0) == (1, 0)
        writer.flush()
    with closing(connected(cluster.bootstrap, "librdkafka").reader(TOPIC)) as reader:
        [[timestamp]] = [batch.timestamps for batch in reader.read_range(0, 0, 1)]
    assert before <= timestamp <= time.time_ns() // 1_000_000
