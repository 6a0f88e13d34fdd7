"""With transactions, an output partition has one owner, and no one reads what is not committed."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import DeliveryFailed
from fugu.dataflows.kafka.client import Client, Writer
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.connection import Connection
from tests.faults.feeding import PARTITIONS, document_with_topics, paced_feed, stream
from tests.faults.outcomes import check_one_outcome_each, published
from tests.kafka.pipelines import Document, running, write_pipeline
from tests.kafka.records import Record, read_topic
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


def test_other_pipelines_are_left_alone(
    owner: Writer, client: Client, bootstrap: str, topic: str
) -> None:
    other = client.writer("another").owner_of(topic, 0)
    owner.write(topic, outgoing(b"0"))
    owner.flush()
    assert values(bootstrap, topic, 1) == [b"0"]
    other.close()


def test_all_partitions_of_an_owner_are_committed_by_the_first_that_flushes(
    client: Client, bootstrap: str, topic: str
) -> None:
    writer = client.writer("pipeline")
    first, second = (writer.owner_of(topic, partition) for partition in range(2))
    assert first is second
    second.write(topic, replace(outgoing(b"1"), partition=1))
    first.write(topic, outgoing(b"0"))
    first.flush()
    assert values(bootstrap, topic, 1) == [b"0"]
    assert [record.value for record in read_topic(bootstrap, topic)[1]] == [b"1"]
    first.close()


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
    """Return how many records a reader of committed records finds."""
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
            owner = client.writer(f"{document['name']}.{sink}.shard-0000").owner_of(sink, 0)
            feed.feed(1_000)
            assert first.exit_code() == 1
            assert "another process has taken over transactional id" in first.stderr
            owner.close()
        with running(write_pipeline(tmp_path, document)) as second:
            second.wait_until(lambda: committed(bootstrap, document["sink"]) == 2_000)
            assert second.stop() == 0, second.stderr
    check_one_outcome_each(private, *published(bootstrap, document))


def ways(document: Document, client: str, transactions: object) -> Document:
    return document | {
        "kafka": document["kafka"] | {"client": client, "transactions": transactions}
    }


def test_transactions_come_and_go_over_kills_and_every_release_counts_once(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """A successor without transactions ends what its predecessor left open, with either client."""
    private = stream(RECORDS, seed=19)
    source = topics("private", partitions=PARTITIONS)
    document = document_with_topics(bootstrap, topics, source)
    document["state"]["every"] = "2s"
    sink = document["sink"]
    steps = [
        ("librdkafka", False, "without transactions (kafka.transactions is false)"),
        ("librdkafka", "auto", "in transactions"),
        ("librdkafka", False, "without transactions (kafka.transactions is false)"),
        ("librdkafka", "auto", "in transactions"),
        ("kafka-python", "auto", "without transactions (kafka.client is kafka-python)"),
    ]
    with paced_feed(bootstrap, document, private) as feed:
        for number, (client, transactions, said) in enumerate(steps):
            before = committed(bootstrap, sink)
            pipeline = write_pipeline(tmp_path, ways(document, client, transactions))
            with running(pipeline) as process:
                process.wait_until(lambda before=before: committed(bootstrap, sink) >= before)  # type: ignore[misc]
                process.wait_until_started()
                assert said in process.stderr
                feed.feed(RECORDS // len(steps))
                wanted = (number + 1) * RECORDS // len(steps)
                if number == len(steps) - 1:
                    process.wait_until(lambda: committed(bootstrap, sink) == RECORDS)
                    assert process.stop() == 0, process.stderr
                    continue
                level = "read_uncommitted" if "in transactions" in said else "read_committed"
                process.wait_until(
                    lambda wanted=wanted, level=level: written(bootstrap, sink, level) >= wanted  # type: ignore[misc]
                )
                process.kill()
        check_one_outcome_each(private, *published(bootstrap, document))


def written(bootstrap: str, sink: dict[str, str], level: str) -> int:
    """Count releases and dead letters that a reader of some isolation level finds, each once."""
    names = {
        record.headers[0]
        for topic in (sink["topic"], sink["dead_letters"])
        for records in read_topic(bootstrap, topic, level).values()
        for record in records
    }
    return len(names)


def test_readers_who_do_not_wait_for_commits_see_releases_twice_after_a_kill(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """Why transactions are not the default: most consumers read uncommitted records by default."""
    private = stream(1_000, seed=20)
    source = topics("private", partitions=PARTITIONS)
    document = document_with_topics(bootstrap, topics, source)
    document["state"]["every"] = "10s"
    sink = document["sink"]["topic"]

    def releases(level: str) -> list[Record]:
        return [one for some in read_topic(bootstrap, sink, level).values() for one in some]

    pipeline = write_pipeline(tmp_path, ways(document, "librdkafka", True))
    with paced_feed(bootstrap, document, private) as feed:
        with running(pipeline) as process:
            process.wait_until_started()
            feed.feed(1_000)
            process.wait_until(lambda: len(releases("read_uncommitted")) > 900)
            early = len(releases("read_committed"))
            process.kill()
        with running(pipeline) as process:
            process.wait_until(lambda: committed(bootstrap, document["sink"]) == 1_000)
            assert process.stop() == 0, process.stderr
    seen = releases("read_uncommitted")
    assert len({record.headers[0] for record in seen}) == len(releases("read_committed"))
    assert len(seen) > len(releases("read_committed")) > early
    assert set(seen) == set(releases("read_committed"))
