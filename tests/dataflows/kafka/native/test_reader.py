"""A Kafka that is away costs a reader time, and no memory."""

import ctypes
from collections.abc import Iterator
from contextlib import closing
from threading import Timer

import pytest

from fugu.dataflows.kafka.native.library import library
from fugu.dataflows.kafka.native.reader import NativeReader
from tests.dataflows.kafka.native.cluster import TOPIC, FaultyCluster
from tests.dataflows.kafka.native.filled_topics import until
from tests.kafka.clients import connected


def unheard(reader: NativeReader) -> int:
    count = library().rd_kafka_queue_length
    count.argtypes, count.restype = [ctypes.c_void_p], ctypes.c_size_t
    return int(count(reader._consumer.errors))


@pytest.fixture
def reader(cluster: FaultyCluster) -> Iterator[NativeReader]:
    with closing(connected(cluster.bootstrap, "librdkafka").reader(TOPIC)) as reader:
        assert isinstance(reader, NativeReader)
        yield reader


def test_errors_do_not_pile_up_while_kafka_is_away(
    reader: NativeReader, cluster: FaultyCluster
) -> None:
    reader.bounds([0])
    cluster.go_down()
    until(lambda: unheard(reader) > 10)
    cluster.come_up()
    reader.bounds([0])
    assert unheard(reader) <= 10


def test_bounds_wait_for_a_broker_that_comes_back(
    reader: NativeReader, cluster: FaultyCluster
) -> None:
    asked = reader.bounds([0])
    cluster.go_down()
    until(lambda: unheard(reader) > 0)
    timer = Timer(1.0, cluster.come_up)
    timer.start()
    assert reader.bounds([0]) == asked
    timer.join()
