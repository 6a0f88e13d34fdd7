"""Publishing through the client interface: acknowledged means acknowledged."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import DeliveryFailed
from fugu.dataflows.kafka.client import Writer
from fugu.dataflows.kafka.connection import Library
from fugu.dataflows.kafka.native import settings as librdkafka_settings
from tests.kafka.clients import BOTH, both, connected
from tests.kafka.records import Record, read_topic
from tests.kafka.topics import TopicFactory

CANARY = b"canary"


@pytest.fixture(params=BOTH)
def writer(bootstrap: str, request: pytest.FixtureRequest) -> Iterator[Writer]:
    writer = connected(bootstrap, request.param).writer()
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


@both
def test_a_record_that_kafka_refuses_is_an_error_that_does_not_show_it(
    bootstrap: str, topics: TopicFactory, library: Library
) -> None:
    topic = topics("writer", configs={"max.message.bytes": "1000"})
    writer = connected(bootstrap, library).writer()
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


def test_records_are_published_byte_for_byte(
    writer: Writer, bootstrap: str, topics: TopicFactory
) -> None:
    records = [
        Record(b"key", b"value", (("name", b"\xff"), ("name", b""), ("", b"x")), 1_000),
        Record(None, b"", (), 0),
        Record(b"", b"{}", (("name", b"1"),), 0),
        Record(b"key", b"{}", (), 253_402_300_799_999),
        Record(b"key", b"before 1970", (), -5),
    ]
    configs = {f"message.timestamp.{when}.max.ms": str(2**63 - 1) for when in ("before", "after")}
    topic = topics("writer", configs=configs)
    columns = zip(*((r.key, r.value, list(r.headers), r.timestamp) for r in records), strict=True)
    writer.write(topic, Outgoing(0, *map(list, columns)))
    writer.flush()
    assert writer.acknowledged_end(topic, 0) == len(records)
    assert read_topic(bootstrap, topic)[0] == records


@both
def test_many_records_go_to_a_topic_that_takes_few_at_a_time(
    bootstrap: str, topics: TopicFactory, library: Library
) -> None:
    topic = topics("writer", configs={"max.message.bytes": "20000"})
    client = connected(bootstrap, library)
    assert client.topic(topic) is not None
    writer = client.writer()
    writer.write(topic, outgoing([b"x" * 1_000] * 1_000))
    writer.flush()
    assert writer.acknowledged_end(topic, 0) == 1_000
    writer.close()


def test_columns_that_differ_in_length_are_refused_before_anything_is_written(
    bootstrap: str, topics: TopicFactory
) -> None:
    writer = connected(bootstrap, "librdkafka").writer()
    short = replace(outgoing([b"first", b"last"]), keys=[b"key"])
    topic = topics("writer")
    with pytest.raises(ValueError, match="differ in length"):
        writer.write(topic, short)
    writer.flush()
    writer.close()
    assert not read_topic(bootstrap, topic)[0]


def test_more_records_than_the_client_has_room_for_are_written_once_and_in_order(
    bootstrap: str, topics: TopicFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(librdkafka_settings.WRITING, "queue.buffering.max.messages", 700)
    topic = topics("writer")
    writer = connected(bootstrap, "librdkafka").writer()
    values = [b"%d" % number for number in range(5_000)]
    writer.write(topic, outgoing(values))
    writer.flush()
    assert writer.acknowledged_end(topic, 0) == len(values)
    writer.close()
    assert [record.value for record in read_topic(bootstrap, topic)[0]] == values


@both
def test_nothing_follows_a_record_that_kafka_refused(
    bootstrap: str, topics: TopicFactory, library: Library
) -> None:
    topic = topics("writer", configs={"max.message.bytes": "200000"})
    writer = connected(bootstrap, library).writer()
    good = [b"%05d" % number * 200 for number in range(1_000)]

    def write() -> None:
        writer.write(topic, outgoing([*good[:500], CANARY * 40_000, *good[500:]]))
        writer.flush()

    with pytest.raises(DeliveryFailed):
        write()
    writer.close()
    values = [record.value for record in read_topic(bootstrap, topic)[0]]
    assert values == good[: len(values)]
    assert len(values) <= 500
