"""Whatever librdkafka answers, headers and errors are freed exactly once."""

import time
from collections.abc import Iterator
from contextlib import closing
from queue import SimpleQueue
from typing import Any, cast

import numpy as np
import pytest
from confluent_kafka import KafkaError

from fugu.dataflows.base.batches import Header, Outgoing
from fugu.dataflows.kafka.native import producing
from fugu.dataflows.kafka.native.consumer import producer_of
from fugu.dataflows.kafka.native.library import LoginTroubles, library
from fugu.dataflows.kafka.native.producing import Destination, OutgoingTable, produce, tables_of
from tests.dataflows.kafka.native.cluster import TOPIC, FaultyCluster, outgoing
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


# Reports move the ends of partitions forward, and each event is freed exactly once.


RECORDS = 500


@pytest.fixture
def producer(cluster: FaultyCluster) -> Iterator[int]:
    producer = producer_of({"bootstrap.servers": cluster.bootstrap, "batch.num.messages": 7})
    yield producer
    library().rd_kafka_destroy(producer)


def test_a_report_that_comes_late_does_not_move_the_end_back(cluster: FaultyCluster) -> None:
    with closing(cluster.writer()) as writer:
        place = writer._reports.place_of_end(TOPIC, 0)
        for end in (5, 10, 7):
            producing.move_end(np.uint64(place), end)
        assert writer.acknowledged_end(TOPIC, 0) == 10


def test_what_librdkafka_says_besides_reports_is_heard(cluster: FaultyCluster) -> None:
    class Troubles(LoginTroubles):
        def heard(self, error: int) -> None:
            errors.put(error)

    errors: SimpleQueue[int] = SimpleQueue()
    producer = producer_of({"bootstrap.servers": cluster.bootstrap})
    served = producing.Reports(producer, Troubles(cluster.bootstrap))
    served.topic(TOPIC)
    cluster.go_down()
    while errors.get(timeout=30) != KafkaError._ALL_BROKERS_DOWN:
        pass
    served.end()
    served.join()


def test_every_event_is_freed_once(
    producer: int, cluster: FaultyCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = cast(Any, producing._take_reports).py_func
    monkeypatch.setattr(producing, "_note", cast(Any, producing._note).py_func)
    counted = Counted(monkeypatch, producing)
    calls = library()
    topic, queue = calls.rd_kafka_topic_new(producer, TOPIC.encode(), None), 0
    queue = calls.rd_kafka_queue_get_main(producer)
    end, state = np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64)
    [table] = tables_of(outgoing(*[b"value"] * RECORDS))
    assert produce(Destination(producer, topic, 0, int(end.ctypes.data)), table, 0) == (RECORDS, 0)

    def move(place: int, last: int) -> None:
        end[0] = max(end[0], last)
        state[0] = end[0] == RECORDS

    monkeypatch.setattr(producing, "move_end", move)
    assert taken(queue, state) == 0
    assert counted.found["rd_kafka_event_message_next"] == RECORDS
    assert counted.found["rd_kafka_queue_poll"] > RECORDS // 8
    assert counted.found["rd_kafka_queue_poll"] == counted.calls["rd_kafka_event_destroy"]
    assert calls.rd_kafka_outq_len(producer) == 0
    calls.rd_kafka_queue_destroy(queue)
    calls.rd_kafka_topic_destroy(topic)
