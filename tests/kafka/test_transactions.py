"""With transactions, an output partition has one owner, and no one reads what is not committed."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import DeliveryFailed
from fugu.dataflows.kafka.client import Client, Writer
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.connection import Connection
from tests.faults.feeding import PARTITIONS, document_with_topics, paced_feed, stream
from tests.faults.outcomes import check_one_outcome_each, published
from tests.kafka.pipelines import running, write_pipeline
from tests.kafka.records import read_topic
from tests.kafka.topics import TopicFactory

RECORDS = 6_000


@pytest.fixture
def client(bootstrap: str) -> Client:
    return client_of(Connection(bootstrap, client="librdkafka", transactions=True))


@pytest.fixture
def topic(topics: TopicFactory) -> str:
    return topics("owned", partitions=2)


@pytest.fixture
def owner(client: Client, topic: str) -> Iterator[Writer]:
    owner = client.writer("pipeline").owner_of(topic, 0)
    yield owner
    owner.close()


def outgoing(*values: bytes) -> Outgoing:
    count = len(values)
    return Outgoing(0, [b"key"] * count, list(values), [[]] * count, [1_000] * count)


def values(bootstrap: str, topic: str, count: int) -> list[bytes | None]:
    """The values in partition 0, once there are so many: Kafka shows a commit a moment later."""
    deadline = time.monotonic() + 10
    while len(found := _values(bootstrap, topic)) < count and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def _values(bootstrap: str, topic: str) -> list[bytes | None]:
    return [record.value for record in read_topic(bootstrap, topic)[0]]


def test_records_are_read_once_they_are_committed(
    owner: Writer, bootstrap: str, topic: str
) -> None:
    owner.write(topic, outgoing(b"0", b"1"))
    assert values(bootstrap, topic, 0) == []
    owner.flush()
    assert values(bootstrap, topic, 2) == [b"0", b"1"]
    assert (owner.acknowledged_end(topic, 0) or 0) >= 2


def test_what_is_abandoned_is_never_read(owner: Writer, bootstrap: str, topic: str) -> None:
    owner.write(topic, outgoing(b"0"))
    owner.abandon()
    owner.write(topic, outgoing(b"1"))
    owner.flush()
    assert values(bootstrap, topic, 1) == [b"1"]


def test_a_successor_aborts_what_was_left_open_and_shuts_the_owner_out(
    owner: Writer, client: Client, bootstrap: str, topic: str
) -> None:
    owner.write(topic, outgoing(b"0"))
    successor = client.writer("pipeline").owner_of(topic, 0)
    successor.write(topic, outgoing(b"1"))
    successor.flush()
    with pytest.raises(DeliveryFailed, match="another process has taken over transactional id"):
        owner.flush()
    assert values(bootstrap, topic, 1) == [b"1"]
    successor.close()


def test_other_pipelines_and_partitions_are_left_alone(
    owner: Writer, client: Client, bootstrap: str, topic: str
) -> None:
    others = [
        client.writer("pipeline").owner_of(topic, 1),
        client.writer("another").owner_of(topic, 0),
    ]
    owner.write(topic, outgoing(b"0"))
    owner.flush()
    assert values(bootstrap, topic, 1) == [b"0"]
    for other in others:
        other.close()


def test_a_pipeline_that_is_killed_publishes_everything_once(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=17)
    source = topics("private", partitions=PARTITIONS)
    document = document_with_topics(bootstrap, topics, source)
    document["kafka"] |= {"client": "librdkafka", "transactions": True}
    pipeline = write_pipeline(tmp_path, document)
    with paced_feed(bootstrap, document, private) as feed:
        for target in (1_000, 2_500):
            with running(pipeline) as process:
                process.wait_until(lambda target=target: feed.advance() >= target)  # type: ignore[misc]
                feed.feed(1_000)
                process.kill()
        feed.feed(RECORDS)
        with running(pipeline) as process:
            process.wait_until(lambda: committed(bootstrap, document["sink"]) == RECORDS)
            assert process.stop() == 0, process.stderr
    check_one_outcome_each(private, *published(bootstrap, document))


def committed(bootstrap: str, sink: dict[str, str]) -> int:
    """How many records a reader of committed records finds."""
    return sum(
        len(records)
        for topic in (sink["topic"], sink["dead_letters"])
        for records in read_topic(bootstrap, topic).values()
    )


def test_a_second_owner_ends_the_first_before_its_state_advances(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(2_000, seed=18)
    source = topics("private", partitions=PARTITIONS)
    document = document_with_topics(bootstrap, topics, source)
    document["kafka"] |= {"client": "librdkafka", "transactions": True}
    with paced_feed(bootstrap, document, private) as feed:
        with running(write_pipeline(tmp_path, document)) as first:
            feed.feed(1_000)
            first.wait_until(lambda: committed(bootstrap, document["sink"]) == 1_000)
            client = client_of(Connection(bootstrap, client="librdkafka", transactions=True))
            sink = document["sink"]["topic"]
            owners = [
                client.writer(document["name"]).owner_of(sink, partition)
                for partition in range(PARTITIONS)
            ]
            feed.feed(1_000)
            assert first.exit_code() == 1
            assert "another process has taken over transactional id" in first.stderr
            for owner in owners:
                owner.close()
        with running(write_pipeline(tmp_path, document)) as second:
            second.wait_until(lambda: committed(bootstrap, document["sink"]) == 2_000)
            assert second.stop() == 0, second.stderr
    check_one_outcome_each(private, *published(bootstrap, document))
