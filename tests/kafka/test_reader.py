"""Reading through the client interface, over everything a real partition can hold."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from kafka import KafkaAdminClient, TopicPartition
from kafka.codec import has_lz4

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.errors import KafkaUnavailable, StartRefused
from fugu.dataflows.kafka.client import Bounds, Reader
from fugu.dataflows.kafka.connection import Library
from tests.kafka.clients import BOTH, both, connected
from tests.kafka.compaction import compact
from tests.kafka.records import PATIENCE_SECONDS, Placed, Record, produce
from tests.kafka.topics import TopicFactory
from tests.kafka.transactions import transaction, transactional_producer


class OneTopic:
    """A reader of one topic, and what a test does to it."""

    def __init__(self, bootstrap: str, topic: str, library: Library) -> None:
        self.bootstrap = bootstrap
        self.topic = topic
        self.reader: Reader = connected(bootstrap, library).reader(topic)

    def holds(self, *records: Record, partition: int = 0) -> None:
        produce(self.bootstrap, self.topic, [Placed(partition, record) for record in records])

    def forget_before(self, offset: int) -> None:
        with KafkaAdminClient(bootstrap_servers=self.bootstrap) as admin:
            admin.delete_records({TopicPartition(self.topic, 0): offset})

    def range(self, start: int, end: int) -> list[tuple[int, bytes | None]]:
        batches = list(self.reader.read_range(0, start, end))
        return [pair for batch in batches for pair in zip(batch.offsets, batch.values, strict=True)]


@pytest.fixture(params=BOTH)
def one(bootstrap: str, topics: TopicFactory, request: pytest.FixtureRequest) -> Iterator[OneTopic]:
    topic = OneTopic(
        bootstrap,
        topics("reader", partitions=2, configs={"max.message.bytes": "8000000"}),
        request.param,
    )
    yield topic
    topic.reader.close()


def numbered(*numbers: int) -> list[Record]:
    return [Record(b"key", b"%d" % number) for number in numbers]


def poll_until(reader: Reader, records: int) -> list[Batch]:
    batches: list[Batch] = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    while sum(len(batch.offsets) for batch in batches) < records:
        assert time.monotonic() < deadline
        batches += reader.poll(max_records=2)
    return batches


def test_an_empty_partition_is_an_empty_range(one: OneTopic) -> None:
    assert one.reader.bounds([0, 1]) == {0: Bounds(0, 0), 1: Bounds(0, 0)}
    assert one.range(0, 0) == []


def test_a_range_is_read_from_start_to_end(one: OneTopic) -> None:
    one.holds(*numbered(0, 1, 2, 3, 4))
    assert one.reader.bounds([0])[0] == Bounds(0, 5)
    assert one.range(1, 3) == [(1, b"1"), (2, b"2")]
    assert one.range(0, 5) == [(number, b"%d" % number) for number in range(5)]


def test_records_come_back_exactly_as_they_are(one: OneTopic) -> None:
    odd = [
        Record(None, b"no key", timestamp=2_000),
        Record(b"no value", None, timestamp=1_000),
        Record(b"", b"", timestamp=0),
        Record(
            b"key", b"value", (("name", b"\xff"), ("name", b""), ("", b"x")), 253_402_300_799_999
        ),
    ]
    one.holds(*odd)
    [batch] = one.reader.read_range(0, 0, 4)
    assert (batch.partition, list(batch.offsets)) == (0, [0, 1, 2, 3])
    assert list(batch.keys) == [record.key for record in odd]
    assert list(batch.values) == [record.value for record in odd]
    assert [tuple(headers) for headers in batch.headers] == [record.headers for record in odd]
    assert list(batch.timestamps) == [2_000, 1_000, 0, 253_402_300_799_999]


def test_a_record_larger_than_a_fetch_is_read(one: OneTopic) -> None:
    one.holds(Record(b"key", b"x" * 5_000_000), *numbered(1))
    assert [(offset, len(value or b"")) for offset, value in one.range(0, 2)] == [
        (0, 5_000_000),
        (1, 1),
    ]


def test_aborted_and_control_records_are_passed_over(one: OneTopic) -> None:
    with transactional_producer(one.bootstrap) as producer:
        transaction(producer, one.topic, [b"0", b"1"], commit=True)
        transaction(producer, one.topic, [b"3", b"4"], commit=False)
        transaction(producer, one.topic, [b"6"], commit=True)
        transaction(producer, one.topic, [b"8"], commit=False)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while one.reader.bounds([0])[0] != Bounds(0, 10):
        assert time.monotonic() < deadline, "a broker writes the last marker a little later"
    assert one.range(0, 10) == [(0, b"0"), (1, b"1"), (6, b"6")]
    assert one.range(7, 10) == [], "nothing but an aborted record and its marker"


def test_the_position_goes_past_control_records(one: OneTopic) -> None:
    with transactional_producer(one.bootstrap) as producer:
        transaction(producer, one.topic, [b"0", b"1"], commit=True)
        transaction(producer, one.topic, [b"3"], commit=False)
    one.reader.assign({0: 0})
    poll_until(one.reader, 2)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while one.reader.position(0) != 5:
        assert one.reader.poll(max_records=2) == []
        assert time.monotonic() < deadline
    one.holds(*numbered(5))
    [batch] = poll_until(one.reader, 1)
    assert list(batch.offsets) == [5]
    assert one.reader.position(0) == 6


def test_an_open_transaction_is_not_part_of_the_range(one: OneTopic) -> None:
    one.holds(*numbered(0))
    with transactional_producer(one.bootstrap) as producer:
        producer.begin_transaction()
        producer.send(one.topic, b"1", b"key", partition=0).get(timeout=30)
        assert one.reader.bounds([0])[0] == Bounds(0, 1)
        assert one.range(0, 1) == [(0, b"0")]
        producer.commit_transaction()
    assert one.range(0, 3) == [(0, b"0"), (1, b"1")]


@pytest.fixture(scope="module")
def compacted(bootstrap: str, topics: TopicFactory) -> str:
    topic = topics("compacted", configs={"cleanup.policy": "compact"})
    records = [*numbered(0, 1, 2), Record(b"other", b"3"), *numbered(4)]
    produce(bootstrap, topic, [Placed(0, record) for record in records])
    compact(bootstrap, topic)
    return topic


@both
def test_gaps_that_compaction_left_are_passed_over(
    bootstrap: str, compacted: str, library: Library
) -> None:
    one = OneTopic(bootstrap, compacted, library)
    end = one.reader.bounds([0])[0].end
    kept = [offset for offset, _ in one.range(0, end)]
    assert kept[:2] == [3, 4]
    one.reader.close()


def test_a_start_that_retention_removed_is_an_error_not_a_silent_jump(one: OneTopic) -> None:
    one.holds(*numbered(0, 1, 2))
    one.forget_before(2)
    assert one.reader.bounds([0])[0] == Bounds(2, 3)
    with pytest.raises(
        StartRefused, match=f"topic {one.topic}, partition 0: offset 0 is no longer"
    ):
        one.range(0, 3)


def test_a_position_beyond_the_end_is_an_error(one: OneTopic) -> None:
    one.holds(*numbered(0))
    one.reader.assign({0: 7})
    with pytest.raises(StartRefused, match="offset 7 is no longer there"):
        poll_until(one.reader, records=1)


@pytest.mark.skipif(has_lz4(), reason="this installation reads lz4")
def test_a_topic_that_cannot_be_decompressed_says_what_to_install(
    bootstrap: str, topics: TopicFactory
) -> None:
    one = OneTopic(bootstrap, topics("compressed"), "kafka-python")
    producer = Producer({"bootstrap.servers": one.bootstrap, "compression.type": "lz4"})
    producer.produce(one.topic, b"x" * 1000, b"key", partition=0)
    producer.flush(30)
    with pytest.raises(KafkaUnavailable, match=r"pip install 'kafka-python\[lz4,snappy,zstd\]'"):
        one.range(0, 1)
    one.reader.close()


def test_polling_is_bounded_and_ordered_within_each_partition(one: OneTopic) -> None:
    one.holds(*numbered(0, 1, 2, 3, 4))
    one.holds(*numbered(0, 1, 2), partition=1)
    one.reader.assign({0: 2, 1: 0})
    batches = poll_until(one.reader, 6)
    assert all(sum(len(batch.offsets) for batch in [batch]) <= 2 for batch in batches)
    offsets = {p: [o for b in batches if b.partition == p for o in b.offsets] for p in (0, 1)}
    assert offsets == {0: [2, 3, 4], 1: [0, 1, 2]}


def test_polling_an_idle_topic_returns_at_once(one: OneTopic) -> None:
    one.reader.assign({0: 0})
    one.reader.poll(max_records=10)
    before = time.monotonic()
    assert one.reader.poll(max_records=10) == []
    assert time.monotonic() - before < 0.5


def test_bounds_are_told_beside_a_partition_of_which_there_are_none(one: OneTopic) -> None:
    one.holds(*numbered(0, 1), partition=1)
    told = one.reader.bounds_now([0, 1, 7], 10.0)
    assert [told[0], told[1]] == [Bounds(0, 0), Bounds(0, 2)]
    assert isinstance(told[7], str)


class NoText(str):
    """The name of a header that is no UTF-8, as producers over librdkafka may write it."""

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return b"\xff" + super().encode(encoding, errors)


def test_a_name_of_a_header_that_is_no_text_stops_nobody(one: OneTopic) -> None:
    """Its record is read as if it had no headers, whichever client reads it."""
    fine = ("note", b"1")
    records = [
        Record(b"a", b"0", (fine,)),
        Record(b"b", b"1", (fine, (NoText("odd"), b"2"))),
        Record(b"c", b"2", (("\N{BLOWFISH}\ufffd", b"3"),)),
    ]
    one.holds(*records)
    read = [record for batch in one.reader.read_range(0, 0, 3) for record in batch.records()]
    assert [(key, value) for _, _, key, value, _ in read] == [
        (b"a", b"0"),
        (b"b", b"1"),
        (b"c", b"2"),
    ]
    assert [list(headers) for *_, headers in read] == [[fine], [], [("\N{BLOWFISH}\ufffd", b"3")]]
