"""Reports move the ends of partitions forward, and each event is freed exactly once."""

from collections.abc import Iterator
from contextlib import closing
from queue import SimpleQueue
from typing import Any, cast

import numpy as np
import pytest
from confluent_kafka import KafkaError

from fugu.dataflows.kafka.native import reports
from fugu.dataflows.kafka.native.handle import producer_of
from fugu.dataflows.kafka.native.library import library
from fugu.dataflows.kafka.native.login_troubles import LoginTroubles
from fugu.dataflows.kafka.native.outgoing_table import tables_of
from fugu.dataflows.kafka.native.producing import Destination, produce
from tests.dataflows.kafka.native.cluster import TOPIC, FaultyCluster, outgoing
from tests.dataflows.kafka.native.counted import Counted

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
            reports.move_end(np.uint64(place), end)
        assert writer.acknowledged_end(TOPIC, 0) == 10


def test_what_librdkafka_says_besides_reports_is_heard(cluster: FaultyCluster) -> None:
    class Troubles(LoginTroubles):
        def heard(self, error: int) -> None:
            errors.put(error)

    errors: SimpleQueue[int] = SimpleQueue()
    producer = producer_of({"bootstrap.servers": cluster.bootstrap})
    served = reports.Reports(producer, Troubles(cluster.bootstrap))
    served.topic(TOPIC)
    cluster.go_down()
    while errors.get(timeout=30) != KafkaError._ALL_BROKERS_DOWN:
        pass
    served.end()
    served.join()


def test_every_event_is_freed_once(
    producer: int, cluster: FaultyCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = cast(Any, reports._take_reports).py_func
    monkeypatch.setattr(reports, "_note", cast(Any, reports._note).py_func)
    counted = Counted(monkeypatch, reports)
    calls = library()
    topic, queue = calls.rd_kafka_topic_new(producer, TOPIC.encode(), None), 0
    queue = calls.rd_kafka_queue_get_main(producer)
    end, state = np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64)
    [table] = tables_of(outgoing(*[b"value"] * RECORDS))
    assert produce(Destination(producer, topic, 0, int(end.ctypes.data)), table, 0) == (RECORDS, 0)

    def move(place: int, last: int) -> None:
        end[0] = max(end[0], last)
        state[0] = end[0] == RECORDS

    monkeypatch.setattr(reports, "move_end", move)
    assert taken(queue, state) == 0
    assert counted.found["rd_kafka_event_message_next"] == RECORDS
    assert counted.found["rd_kafka_queue_poll"] > RECORDS // 8
    assert counted.found["rd_kafka_queue_poll"] == counted.calls["rd_kafka_event_destroy"]
    assert calls.rd_kafka_outq_len(producer) == 0
    calls.rd_kafka_queue_destroy(queue)
    calls.rd_kafka_topic_destroy(topic)
