"""Turn what librdkafka refuses to begin with into one error, which shows no secret."""

import ctypes
import time
from collections.abc import Iterator
from contextlib import closing
from threading import Timer

import pytest

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.client import Bounds
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.kafka.native.consumer import NativeReader, consumer_of, producer_of
from fugu.dataflows.kafka.native.library import library
from fugu.dataflows.kafka.native.settings import READING, settings_of
from tests.dataflows.kafka.native.cluster import TOPIC, FaultyCluster
from tests.dataflows.kafka.native.filled_topics import until
from tests.kafka.clients import connected

CANARY = "secret-canary"
SETTINGS = settings_of(Connection("localhost:9092"))


def test_a_setting_that_does_not_exist_is_named() -> None:
    with pytest.raises(KafkaUnavailable, match=r"does not take the setting no\.such\.thing"):
        producer_of({**SETTINGS, "no.such.thing": CANARY})


def test_a_value_that_is_refused_is_not_shown() -> None:
    with pytest.raises(KafkaUnavailable, match=r"does not take the setting linger\.ms") as caught:
        producer_of({**SETTINGS, "linger.ms": CANARY})
    assert CANARY not in str(caught.value)


def test_a_file_that_cannot_be_read_is_an_error() -> None:
    settings = {**SETTINGS, "security.protocol": "SSL", "ssl.key.location": f"/nowhere/{CANARY}"}
    with pytest.raises(KafkaUnavailable, match="cannot be started with these settings") as caught:
        consumer_of(settings | READING)
    assert CANARY not in str(caught.value)


# A Kafka that is away costs a reader time, and no memory.


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


def test_a_partition_without_a_leader_holds_up_no_other_one(
    reader: NativeReader, cluster: FaultyCluster
) -> None:
    cluster.lose_leader(1)
    told = reader.bounds_now([0, 1, 2], 5.0)
    assert [isinstance(told[partition], Bounds) for partition in range(3)] == [True, False, True]
    cluster.go_down()
    began = time.monotonic()
    assert Bounds not in map(type, reader.bounds_now([0, 1, 2], 0.5).values())
    assert time.monotonic() - began < 2.0
