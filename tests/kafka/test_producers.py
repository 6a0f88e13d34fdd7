"""Two kinds of producers place the same users differently; each pipeline is right about one."""

from collections import Counter, defaultdict
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import orjson
import pytest
from confluent_kafka import Producer
from kafka import KafkaConsumer, KafkaProducer
from kafka.partitioner.default import murmur2

from tests.kafka.pipelines import (
    ALPHABET,
    MEMORYLESS,
    fugu,
    pipeline_document,
    running,
    write_pipeline,
)
from tests.kafka.records import NOW, Record, end_offsets, read_topic
from tests.kafka.topics import TopicFactory

PARTITIONS = 4
PARTITIONERS = ("murmur2", "crc32")
USERS = [b"user-%d" % number for number in range(40)]
MOST_RECORDS = 5
EPSILON = 1.0
AFFORDABLE = 3
BUDGET = (AFFORDABLE + 0.5) * EPSILON

Topic = dict[int, list[Record]]


def right_partition(partitioner: str, record: Record) -> int:
    """Return where a producer with this partitioner puts the user of a record."""
    assert record.key is not None
    digest = crc32(record.key) if partitioner == "crc32" else murmur2(record.key) & 0x7FFFFFFF
    return int(digest) % PARTITIONS


def producer_of(record: Record) -> str:
    """The partitioner of the producer that wrote a record: the other one used odd timestamps."""
    return PARTITIONERS[(record.timestamp - NOW) % 2]


def produce_twice(bootstrap: str, topic: str) -> None:
    """Write 1 to 5 records of each user with a Java-compatible producer, and as many with
    librdkafka; no two records share a timestamp."""
    java = KafkaProducer(bootstrap_servers=bootstrap)
    librdkafka = Producer({"bootstrap.servers": bootstrap})
    with closing(java):
        for number in range(len(USERS) * MOST_RECORDS):
            turn, user = divmod(number, len(USERS))
            if turn > user % MOST_RECORDS:
                continue
            key, value = USERS[user], b'{"zone": "%s"}' % ALPHABET[number % 4].encode()
            java.send(topic, key=key, value=value, timestamp_ms=NOW + 2 * number)
            librdkafka.produce(topic, key=key, value=value, timestamp=NOW + 2 * number + 1)
        java.flush()
        assert librdkafka.flush() == 0


@dataclass(frozen=True)
class Outcome:
    """Hold what a pipeline made of the topic."""

    pipeline: Path
    source: Topic
    sanitized: Topic
    dead_letters: Topic
    belongs: Topic
    """The records of the source whose partition is the right one for this pipeline."""


@pytest.fixture(scope="module")
def outcomes(
    bootstrap: str, topics: TopicFactory, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Outcome]:
    """A pipeline for each partitioner over the same topic, at the same time."""
    topic = topics("producers", partitions=PARTITIONS)
    produce_twice(bootstrap, topic)
    source = read_topic(bootstrap, topic)
    paths, sinks = {}, {}
    for partitioner in PARTITIONERS:
        sink, dead_letters = (topics(name, partitions=PARTITIONS) for name in ("out", "dead"))
        document = pipeline_document(bootstrap, topic, sink)
        document["source"]["partitioner"] = partitioner
        document["operator"]["epsilon"] = EPSILON
        document["budget"] = {"total": BUDGET}
        document["sink"] |= {"key": "original", "create": False, "dead_letters": dead_letters}
        paths[partitioner] = write_pipeline(
            tmp_path_factory.mktemp(partitioner), document, MEMORYLESS
        )
        sinks[partitioner] = sink, dead_letters
    run(bootstrap, paths, sinks, count(source))
    return {
        partitioner: Outcome(
            paths[partitioner],
            source,
            read_topic(bootstrap, sinks[partitioner][0]),
            read_topic(bootstrap, sinks[partitioner][1]),
            {
                partition: [r for r in records if right_partition(partitioner, r) == partition]
                for partition, records in source.items()
            },
        )
        for partitioner in PARTITIONERS
    }


def run(
    bootstrap: str, paths: dict[str, Path], sinks: dict[str, tuple[str, str]], records: int
) -> None:
    """Run all pipelines until each has an outcome for every record."""
    with ExitStack() as stack, closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:

        def outcomes(partitioner: str) -> int:
            return sum(sum(end_offsets(consumer, topic)) for topic in sinks[partitioner])

        processes = {
            partitioner: stack.enter_context(running(path)) for partitioner, path in paths.items()
        }
        for partitioner, process in processes.items():
            process.wait_until(lambda it=partitioner: outcomes(it) >= records)  # type: ignore[misc]
            assert process.stop() == 0, process.stderr


def count(topic: Topic) -> int:
    return sum(map(len, topic.values()))


@pytest.fixture(params=PARTITIONERS)
def outcome(request: pytest.FixtureRequest, outcomes: dict[str, Outcome]) -> Outcome:
    return outcomes[request.param]


def test_the_producers_place_users_as_their_partitioners_say(
    outcomes: dict[str, Outcome],
) -> None:
    source = outcomes["crc32"].source
    assert Counter(producer_of(r) for records in source.values() for r in records) == {
        partitioner: count(source) / 2 for partitioner in PARTITIONERS
    }
    for partition, records in source.items():
        assert {right_partition(producer_of(record), record) for record in records} == {partition}


def test_every_record_on_the_right_partition_is_released_once(outcome: Outcome) -> None:
    assert 0 < count(outcome.belongs) < count(outcome.source)
    for partition, releases in outcome.sanitized.items():
        expected = [(record.key, record.timestamp) for record in outcome.belongs[partition]]
        assert [(release.key, release.timestamp) for release in releases] == expected


def test_every_other_record_is_a_dead_letter_that_says_wrong_partition(outcome: Outcome) -> None:
    for partition, dead_letters in outcome.dead_letters.items():
        belongs = {record.timestamp for record in outcome.belongs[partition]}
        found = [orjson.loads(letter.value or b"") for letter in dead_letters]
        assert {letter["reason"] for letter in found} == {"wrong_partition"}
        assert [letter["offset"] for letter in found] == [
            offset
            for offset, record in enumerate(outcome.source[partition])
            if record.timestamp not in belongs
        ]


def test_a_user_is_one_stream_that_pays_once_for_every_release(outcome: Outcome) -> None:
    shown = {
        row["partition"]: row
        for row in orjson.loads(fugu("state", "show", outcome.pipeline, "--json"))
    }
    for partition, records in outcome.belongs.items():
        paid = [min(n, AFFORDABLE) for n in Counter(record.key for record in records).values()]
        row = shown[partition]
        assert row["streams"] == len(paid)
        assert row["mean_spent"] * len(paid) == pytest.approx(EPSILON * sum(paid))
        assert row["largest_spent"] == pytest.approx(EPSILON * max(paid))
    assert sum(row["streams"] for row in shown.values()) == len(USERS)


def test_what_a_user_cannot_pay_for_repeats_the_last_release(outcome: Outcome) -> None:
    released = defaultdict(list)
    for releases in outcome.sanitized.values():
        for release in releases:
            released[release.key].append(orjson.loads(release.value or b"")["zone"])
    unpaid = [zones[AFFORDABLE - 1 :] for zones in released.values() if len(zones) > AFFORDABLE]
    assert unpaid
    assert all(len(set(zones)) == 1 for zones in unpaid)
