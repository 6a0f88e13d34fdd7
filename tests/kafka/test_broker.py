"""The broker that every Kafka test stands on."""

import time
from collections.abc import Callable
from contextlib import closing
from itertools import islice

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from tests.kafka import broker as broker_module
from tests.kafka.broker import Broker
from tests.kafka.kafka_process import BrokerError
from tests.kafka.topics import TopicFactory
from tests.thinned import first_in_test

Record = tuple[bytes | None, bytes | None]

SMALL_RECORDS: list[Record] = [(b"alice", b"rest"), (b"bob", None), (None, b"vigorous")]
LARGE_RECORD: Record = (b"carol", b"x" * 6_000_000)


def produce(bootstrap: str, partition: TopicPartition, records: list[Record]) -> None:
    with KafkaProducer(
        bootstrap_servers=bootstrap, acks="all", max_request_size=8_000_000
    ) as producer:
        sent = [
            producer.send(partition.topic, value, key, partition=partition.partition)
            for key, value in records
        ]
        for future in sent:
            future.get(timeout=30)


def consume(bootstrap: str, partition: TopicPartition, count: int) -> list[Record]:
    with KafkaConsumer(bootstrap_servers=bootstrap, consumer_timeout_ms=30_000) as consumer:
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        return [(record.key, record.value) for record in islice(consumer, count)]


def test_records_come_back_in_order_from_their_partition(
    bootstrap: str, topics: TopicFactory
) -> None:
    topic = topics("round-trip", partitions=2)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    produce(bootstrap, first, SMALL_RECORDS)
    produce(bootstrap, second, [LARGE_RECORD])
    assert consume(bootstrap, first, len(SMALL_RECORDS)) == SMALL_RECORDS
    assert consume(bootstrap, second, 1) == [LARGE_RECORD]


@pytest.mark.parametrize("end", first_in_test([Broker.kill, Broker.stop], 1), ids=["kill", "stop"])
def test_records_survive_a_restart_at_the_same_address(
    end: Callable[[Broker], None], broker: Broker, topics: TopicFactory
) -> None:
    partition = TopicPartition(topics("restart"), 0)
    address = broker.bootstrap
    produce(address, partition, SMALL_RECORDS)
    end(broker)
    broker.start()
    assert broker.bootstrap == address
    assert consume(address, partition, len(SMALL_RECORDS)) == SMALL_RECORDS


def test_a_broker_that_is_not_ours_is_never_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUGU_TEST_BOOTSTRAP", "kafka.example:9092")
    with closing(Broker()) as borrowed:
        assert borrowed.bootstrap == "kafka.example:9092"
        for end in (borrowed.stop, borrowed.kill):
            with pytest.raises(BrokerError, match="unset the variable"):
                end()


def test_a_kafka_that_gets_on_may_take_longer_to_start_than_it_may_be_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on a busy machine, where a fixed time ended the start of the whole suite."""
    monkeypatch.setattr(broker_module, "SILENT_SECONDS", 2.0)
    began = time.monotonic()
    with Broker():
        assert time.monotonic() - began > 2.0
