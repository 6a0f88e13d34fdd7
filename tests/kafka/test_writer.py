"""Publishing through the client interface: acknowledged means acknowledged."""

from collections.abc import Iterator

import pytest

from dataflows.batches import Outgoing
from dataflows.errors import DeliveryFailed
from dataflows.kafka.client import Writer
from dataflows.kafka.connection import Connection
from dataflows.kafka.kafka_python import KafkaPythonClient
from tests.kafka.records import read_topic
from tests.kafka.topics import TopicFactory

CANARY = b"canary"


@pytest.fixture
def writer(bootstrap: str) -> Iterator[Writer]:
    writer = KafkaPythonClient(Connection(bootstrap)).writer()
    yield writer
    writer.close()


def outgoing(values: list[bytes], partition: int = 0) -> Outgoing:
    count = len(values)
    return Outgoing(partition, [b"key"] * count, values, [[]] * count, [1000] * count)


def test_ends_are_known_once_everything_is_acknowledged(
    writer: Writer, bootstrap: str, topics: TopicFactory
) -> None:
    topic = topics("writer", partitions=2)
    writer.write(topic, outgoing([b"0", b"1"]))
    writer.write(topic, outgoing([b"0"], partition=1))
    writer.write(topic, outgoing([b"2"]))
    writer.flush()
    assert [writer.acknowledged_end(topic, partition) for partition in (0, 1)] == [3, 1]
    found = read_topic(bootstrap, topic)
    assert [record.value for record in found[0]] == [b"0", b"1", b"2"]


def test_without_records_there_is_no_end(writer: Writer, topics: TopicFactory) -> None:
    topic = topics("writer")
    writer.flush()
    writer.write(topic, outgoing([]))
    writer.flush()
    assert writer.acknowledged_end(topic, 0) is None


def test_a_record_that_kafka_refuses_is_an_error_that_does_not_show_it(
    bootstrap: str, topics: TopicFactory
) -> None:
    topic = topics("writer", configs={"max.message.bytes": "1000"})
    writer = KafkaPythonClient(Connection(bootstrap)).writer()
    writer.write(topic, outgoing([b"first", CANARY * 1000, b"last"]))
    with pytest.raises(DeliveryFailed, match="before its state advances") as caught:
        writer.flush()
    assert CANARY.decode() not in str(caught.value)
    assert writer.acknowledged_end(topic, 0) in (None, 1)
    writer.close()


def test_a_record_beyond_the_largest_request_is_refused_at_once(
    writer: Writer, topics: TopicFactory
) -> None:
    topic = topics("writer")
    with pytest.raises(DeliveryFailed, match=f"topic {topic}, partition 0") as caught:
        writer.write(topic, outgoing([CANARY * 1_000_000]))
    assert CANARY.decode() not in str(caught.value)
