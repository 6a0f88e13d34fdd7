"""`partitioner: auto` follows the producers, and says when it cannot."""

from functools import partial
from pathlib import Path

import orjson
import pytest
from confluent_kafka import Producer

from tests.kafka.foretold import refusal_foretold
from tests.kafka.pipelines import (
    ALPHABET,
    Document,
    ended,
    fugu,
    pipeline_document,
    running,
    write_pipeline,
)
from tests.kafka.records import NOW, Placed, Record, produce, read_topic
from tests.kafka.topics import TopicFactory

PARTITIONS, USERS = 4, 40
LIBRDKAFKA, JAVA = "consistent_random", "murmur2_random"


def send(bootstrap: str, topic: str, partitioner: str, users: range) -> None:
    """Records of users, where a producer over librdkafka with this partitioner puts them."""
    producer = Producer({"bootstrap.servers": bootstrap, "partitioner": partitioner})
    for user in users:
        value = orjson.dumps({"zone": ALPHABET[user % len(ALPHABET)]})
        producer.produce(topic, value, b"user-%d" % user, timestamp=NOW)
    producer.flush()


def prepared(bootstrap: str, topics: TopicFactory, tmp_path: Path) -> tuple[Document, Path]:
    """A pipeline that does not say how producers place their keys."""
    source = topics("private", partitions=PARTITIONS)
    document = pipeline_document(bootstrap, source, topics("sanitized", partitions=PARTITIONS))
    del document["source"]["partitioner"]
    document["sink"]["dead_letters"] = topics("dead", partitions=PARTITIONS)
    return document, write_pipeline(tmp_path, document)


def count(bootstrap: str, topic: str) -> int:
    """Records of a topic."""
    return sum(map(len, read_topic(bootstrap, topic).values()))


def is_published(bootstrap: str, topic: str, records: int) -> bool:
    """Return whether a topic holds so many records."""
    return count(bootstrap, topic) >= records


def said_of(pipeline: Path) -> dict[str, str]:
    """Return what validate says about the partitioner."""
    rows = orjson.loads(ended(["validate", "--kafka", "--json", pipeline]).stdout)
    found: dict[str, str] = next(row for row in rows if row["check"] == "source.partitioner")
    return found


@pytest.mark.parametrize(("partitioner", "name"), [(LIBRDKAFKA, "crc32"), (JAVA, "murmur2")])
def test_what_producers_use_is_found_and_stays(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, partitioner: str, name: str
) -> None:
    document, pipeline = prepared(bootstrap, topics, tmp_path)
    source, sink = document["source"]["topic"], document["sink"]
    send(bootstrap, source, partitioner, range(USERS))
    assert f"auto, which is {name}" in said_of(pipeline)["detail"]
    for users in (range(USERS), range(USERS, 2 * USERS)):
        send(bootstrap, source, partitioner, users)
        published = partial(is_published, bootstrap, sink["topic"], users.stop)
        with running(pipeline) as process:
            process.wait_until(published)
            assert process.stop() == 0, process.stderr
        if users.start == 0:
            assert f"source.partitioner is {name}" in process.stderr
    assert count(bootstrap, sink["dead_letters"]) == 0
    document["source"]["partitioner"] = "murmur2" if name == "crc32" else "crc32"
    other = write_pipeline(tmp_path, document)
    assert "fugu state repartition" in refusal_foretold(other)
    row = said_of(other)
    assert row["result"] == "warning"
    assert f"{2 * USERS} follow {name}" in row["detail"]


def test_keys_that_follow_no_partitioner_are_refused(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document, pipeline = prepared(bootstrap, topics, tmp_path)
    records = [
        Placed(user % PARTITIONS, Record(b"user-%d" % user, b"{}", timestamp=NOW))
        for user in range(USERS)
    ]
    produce(bootstrap, document["source"]["topic"], records)
    assert "Producers use several partitioners" in refusal_foretold(pipeline)
    row = said_of(pipeline)
    assert row["result"] == "failed"
    assert "partitioner: unchecked" in row["detail"]


def test_an_empty_topic_is_said_to_tell_nothing(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document, pipeline = prepared(bootstrap, topics, tmp_path)
    with running(pipeline) as process:
        process.wait_until_started()
        send(bootstrap, document["source"]["topic"], JAVA, range(USERS))
        process.wait_until(lambda: count(bootstrap, document["sink"]["topic"]) == USERS)
        assert process.stop() == 0
    assert "holds no keys yet; if that is wrong, write source.partitioner" in process.stderr
    fugu("state", "show", pipeline)
