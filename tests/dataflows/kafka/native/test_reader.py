"""A reader that is asked for bounds only keeps no errors that nobody hears."""

import ctypes
from contextlib import closing

import pytest

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.native.library import library
from fugu.dataflows.kafka.native.reader import NativeReader
from tests.dataflows.kafka.native.cluster import TOPIC, FaultyCluster
from tests.dataflows.kafka.native.filled_topics import until
from tests.kafka.clients import connected


def unheard(reader: NativeReader) -> int:
    count = library().rd_kafka_queue_length
    count.argtypes, count.restype = [ctypes.c_void_p], ctypes.c_size_t
    return int(count(reader._consumer.errors))


def test_errors_do_not_pile_up_while_kafka_is_away(cluster: FaultyCluster) -> None:
    with closing(connected(cluster.bootstrap, "librdkafka").reader(TOPIC)) as reader:
        assert isinstance(reader, NativeReader)
        reader.bounds([0])
        cluster.go_down()
        until(lambda: unheard(reader) > 10)
        with pytest.raises(KafkaUnavailable):
            reader.bounds([0])
        assert unheard(reader) <= 10
