"""Compressed batches that are much larger than they look, on a real broker."""

import tracemalloc
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import orjson
import pytest
from confluent_kafka import Producer

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.client import Bounds
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.connection import Connection, Library
from fugu.dataflows.kafka.failures import NotUnpacked
from fugu.dataflows.kafka.passing_reader import PassingReader
from tests.kafka.pipelines import pipeline_document, running, write_pipeline
from tests.kafka.records import NOW, Placed, Record, produce, read_topic
from tests.kafka.topics import TopicFactory

LIMIT = 4 * 1_048_576
"""The limit of these tests. With librdkafka three times as much may be read."""
LARGE = 200_000
CODECS: list[tuple[Library, str]] = [("kafka-python", "gzip"), ("librdkafka", "zstd")]
"""What the clients of the tests read, and bound: librdkafka has no bound for the others."""
each = pytest.mark.parametrize(("library", "codec"), CODECS)
GOOD = Record(b"anna", b'{"zone":"light"}')


def settings_of(bootstrap: str, codec: str) -> dict[str, object]:
    """Settings of a producer that writes one large batch."""
    return {
        "bootstrap.servers": bootstrap,
        "compression.type": codec,
        "linger.ms": 500,
        "batch.num.messages": 1_000_000,
        "queue.buffering.max.messages": 2_000_000,
        "batch.size": 500_000_000,
        "message.max.bytes": 500_000_000,
    }


def one_batch(
    bootstrap: str, topic: str, codec: str, records: int, value: bytes, partition: int = 0
) -> None:
    """Write records that look small to the broker."""
    producer = Producer(settings_of(bootstrap, codec))
    for _ in range(records):
        producer.produce(topic, value, b"anna", partition, timestamp=NOW)
    assert producer.flush(60) == 0


def zone(size: int) -> bytes:
    return b'{"zone":"light","more":"%s"}' % (b"x" * size)


def reader_of(bootstrap: str, topic: str, library: Library, most: int = LIMIT) -> PassingReader:
    connection = Connection(bootstrap, client=library, max_unpacked_bytes=most)
    return PassingReader(topic, client_of(connection).reader(topic))


@each
def test_a_batch_that_is_too_large_is_named_with_its_offsets_and_the_setting(
    bootstrap: str, topics: TopicFactory, library: Library, codec: str
) -> None:
    topic = topics("bomb")
    produce(bootstrap, topic, [Placed(0, GOOD)] * 3)
    one_batch(bootstrap, topic, codec, 100, zone(LARGE))
    connection = Connection(bootstrap, client=library, max_unpacked_bytes=LIMIT)
    with closing(client_of(connection).reader(topic)) as reader:
        read = list[Batch]()
        with pytest.raises(NotUnpacked) as raised:
            read.extend(reader.read_range(0, 0, 103))
    assert [offset for batch in read for offset in batch.offsets] == [0, 1, 2]
    assert isinstance(raised.value, KafkaUnavailable)
    text = str(raised.value)
    assert f"topic {topic}, partition 0: the batch with offsets 3 to 102" in text
    assert "4,194,304 bytes" in text
    assert "kafka.max_unpacked_bytes" in text


@each
def test_reading_goes_on_behind_a_batch_that_is_passed_over_in_every_partition(
    bootstrap: str, topics: TopicFactory, library: Library, codec: str
) -> None:
    topic = topics("bomb", partitions=2)
    for partition in (0, 1):
        produce(bootstrap, topic, [Placed(partition, GOOD)] * 3)
        one_batch(bootstrap, topic, codec, 100, zone(LARGE), partition)
        produce(bootstrap, topic, [Placed(partition, GOOD)] * 2)
    with closing(reader_of(bootstrap, topic, library)) as reader:
        assert reader.bounds([0, 1]) == {0: Bounds(0, 105), 1: Bounds(0, 105)}
        for partition in (0, 1):
            found = list(reader.read_range(partition, 0, 105))
            offsets = [offset for batch in found for offset in batch.offsets]
            values = [value for batch in found for value in batch.values]
            assert offsets == list(range(105))
            assert values == [GOOD.value] * 3 + [None] * 100 + [GOOD.value] * 2
            assert reader.position(partition) == 105


@each
def test_what_is_within_the_limit_is_read_in_one_piece(
    bootstrap: str, topics: TopicFactory, library: Library, codec: str
) -> None:
    topic = topics("large")
    one_batch(bootstrap, topic, codec, 19, zone(LARGE))
    with closing(reader_of(bootstrap, topic, library)) as reader:
        found = list(reader.read_range(0, 5, 19))
    assert [value for batch in found for value in batch.values] == [zone(LARGE)] * 14


@each
def test_a_batch_of_an_aborted_transaction_is_passed_over_without_a_word(
    bootstrap: str, topics: TopicFactory, library: Library, codec: str
) -> None:
    topic = topics("aborted")
    producer = Producer(settings_of(bootstrap, codec) | {"transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    for _ in range(100):
        producer.produce(topic, zone(LARGE), b"anna", 0)
    assert producer.flush(30) == 0
    producer.abort_transaction(30)
    produce(bootstrap, topic, [Placed(0, GOOD)])
    with closing(reader_of(bootstrap, topic, library)) as reader:
        found = list(reader.read_range(0, 0, 102))
    assert [offset for batch in found for offset in batch.offsets] == [101]


@each
def test_records_of_a_batch_that_is_not_unpacked_are_dead_letters_and_the_others_released(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, library: Library, codec: str
) -> None:
    source, sink, dead = topics("source"), topics("sanitized"), topics("dead")
    produce(bootstrap, source, [Placed(0, GOOD)] * 3)
    one_batch(bootstrap, source, codec, 100, zone(LARGE))
    produce(bootstrap, source, [Placed(0, GOOD)] * 2)
    document = pipeline_document(bootstrap, source, sink)
    document["source"] |= {"max_batch": 32}
    document["sink"] |= {"dead_letters": dead}
    document["kafka"] |= {"client": library, "max_unpacked_bytes": LIMIT}
    if library == "librdkafka":
        document["state"] = {"store": "kafka", "topic": f"state-{uuid4().hex}", "every": "200ms"}
    with running(write_pipeline(tmp_path, document)) as process:
        process.wait_until(
            lambda: (
                len(read_topic(bootstrap, sink)[0]) == 5
                and len(read_topic(bootstrap, dead)[0]) == 100
            )
        )
        assert process.stop() == 0, process.stderr
    letters = [orjson.loads(letter.value or b"") for letter in read_topic(bootstrap, dead)[0]]
    assert [letter["offset"] for letter in letters] == list(range(3, 103))
    assert {letter["reason"] for letter in letters} == {"too_large"}
    assert f"topic {source}, partition 0: the batch with offsets 3 to 102" in process.stderr
    assert "kafka.max_unpacked_bytes" in process.stderr


def test_a_poll_of_kafka_python_returns_no_more_bytes_than_it_should(
    bootstrap: str, topics: TopicFactory
) -> None:
    topic = topics("many", configs={"max.message.bytes": "8000000"})
    for _ in range(12):
        one_batch(bootstrap, topic, "gzip", 100, zone(LARGE))
    tracemalloc.start()
    try:
        with closing(reader_of(bootstrap, topic, "kafka-python", 32 * 1_048_576)) as reader:
            found = sum(len(batch.offsets) for batch in reader.read_range(0, 0, 1_200))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == 1_200
    assert most < 180_000_000, "two polls and a batch; all of it would be 240 MB of values"
