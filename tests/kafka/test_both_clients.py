"""Over awkward input on a real broker, a pipeline publishes the same bytes with either client."""

from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Producer
from kafka import KafkaConsumer
from kafka.codec import has_lz4, has_snappy, has_zstd

from fugu.dataflows.kafka.connection import Library
from tests.kafka.clients import BOTH, kafka_section
from tests.kafka.compaction import compact
from tests.kafka.pipelines import pipeline_document, running, write_pipeline
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce, read_topic
from tests.kafka.topics import TopicFactory
from tests.kafka.transactions import transaction, transactional_producer
from tests.thinned import first_in_test

Write = Callable[[str, str], None]

VALUES = [b'{"zone":"light"}', b'{"zone":"rest","more":"%s"}' % (b"x" * 300)]
LARGE = b'{"zone":"vigorous","more":"%s"}' % (b"x" * 900_000)
READABLE = ["none", "gzip"] + [
    codec for codec, has in (("lz4", has_lz4), ("snappy", has_snappy), ("zstd", has_zstd)) if has()
]
"""Compressions that the installed kafka-python reads."""


def good(numbers: Iterable[int]) -> list[Record]:
    return [Record(b"user-%d" % (n % 7), VALUES[n % 2], timestamp=NOW + n) for n in numbers]


def awkward(bootstrap: str, topic: str) -> None:
    """Nulls, headers, odd bytes, large values, and timestamps that go backwards, or are none."""
    records = [
        Record(None, VALUES[0]),
        Record(b"user-1", None),
        Record(b"", VALUES[0]),
        Record(b"user-2", b""),
        Record(b"user-2", b"\xff{"),
        Record(b"\xff\x00", VALUES[1], timestamp=NOW + 5_000),
        Record(b"user-3", VALUES[1], (("name", b"\xff"), ("name", b""), ("", b"x")), NOW - 9_000),
        Record(b"user-3", LARGE, timestamp=NOW + 1),
        Record(b"user-3", VALUES[0], (("fugu-release", b"not ours"),), NOW - 1),
        Record(b"user-4", VALUES[0], timestamp=0),
        Record(b"user-4", VALUES[1], timestamp=0),
        Record(b"user-4", VALUES[1], timestamp=-1),
        Record(b"user-4", VALUES[1], timestamp=7),
    ]
    produce(bootstrap, topic, [Placed(0, record) for record in records])


def compressed(bootstrap: str, topic: str) -> None:
    """Large batches, compressed in every way, and not."""
    for codec in READABLE:
        settings = {"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 100}
        producer = Producer(settings)
        for record in good(range(1_500)):
            producer.produce(topic, record.value, record.key, 0, timestamp=record.timestamp)
        assert producer.flush(30) == 0


def transactions(bootstrap: str, topic: str) -> None:
    """Committed and aborted records between those of other producers, and their markers."""
    with transactional_producer(bootstrap) as producer:
        for commit in (True, False, True, False):
            transaction(producer, topic, VALUES * 5, commit=commit)
            produce(bootstrap, topic, [Placed(0, record) for record in good(range(5))])
        transaction(producer, topic, VALUES * 5, commit=False)


def gaps(bootstrap: str, topic: str) -> None:
    """Write many records, and compact them."""
    produce(bootstrap, topic, [Placed(0, record) for record in good(range(200))])
    compact(bootstrap, topic)


def all_kinds(bootstrap: str, topic: str) -> None:
    """One after the other."""
    for write in (awkward, compressed, transactions):
        write(bootstrap, topic)


UNLIMITED = {f"message.timestamp.{when}.max.ms": str(2**63 - 1) for when in ("before", "after")}
INPUTS: dict[str, tuple[Write, dict[str, str]]] = {
    "all kinds": (all_kinds, {}),
    "gaps": (gaps, {"cleanup.policy": "compact"}),
}


@pytest.mark.parametrize("name", first_in_test(INPUTS, 1))
def test_each_client_goes_on_where_the_other_was_killed_and_publishes_the_same_bytes(
    name: str, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    write, configs = INPUTS[name]
    source = topics("source", configs=UNLIMITED | configs)
    write(bootstrap, source)
    records = read_topic(bootstrap, source)[0]
    courses = (BOTH, BOTH[::-1])
    outcomes = []
    for course in courses:
        sinks = [topics(sink, configs=UNLIMITED) for sink in ("sanitized", "dead")]
        folder = tmp_path / course[0]
        publish(bootstrap, source, sinks, folder, course, len(records))
        outcomes.append([read_topic(bootstrap, sink)[0] for sink in sinks])
    releases, dead_letters = outcomes[0]
    assert outcomes[0] == outcomes[1]
    assert len(releases) + len(dead_letters) == len(records)
    accepted = {max(0, r.timestamp) for r in records if r.key and r.value in VALUES}
    assert accepted <= {release.timestamp for release in releases}, "0 where there was none"


def publish(
    bootstrap: str,
    source: str,
    sinks: list[str],
    folder: Path,
    course: list[Library],
    records: int,
) -> None:
    """Run with one client after the other; all but the last are killed in mid-stream."""
    document = pipeline_document(bootstrap, source, sinks[0])
    document["source"] |= {"max_batch": 3}
    document["sink"] |= {"create": False, "key": "original", "dead_letters": sinks[1]}
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:

        def published() -> int:
            return sum(sum(end_offsets(consumer, sink)) for sink in sinks)

        for number, library in enumerate(course, start=1):
            document["kafka"] = kafka_section(bootstrap, library)
            with running(write_pipeline(folder, document)) as process:
                part = records * number // len(course)
                process.wait_until(lambda part=part: published() >= part)  # type: ignore[misc]
                if number < len(course):
                    process.kill()
                else:
                    assert process.stop() == 0, process.stderr
