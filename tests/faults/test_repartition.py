"""Streams move to where producers send their keys now, and every budget moves with them."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import orjson
from kafka import KafkaAdminClient, KafkaConsumer

from fugu.dataflows.kafka.partitioner import partition_of
from tests.faults.feeding import document_with_topics
from tests.faults.killing import killed_inside
from tests.faults.outcomes import published
from tests.kafka.pipelines import (
    ALPHABET,
    MEMORYLESS,
    Document,
    fugu,
    refusal,
    refused,
    running,
    write_pipeline,
)
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce, read_topic
from tests.kafka.topics import TopicFactory

USERS = [b"user-%d" % number for number in range(60)]
FEW, MANY = 4, 6
TOTAL = 6
"""Nats for the life of a stream; with a memoryless model every release costs one."""

Home = Callable[[bytes], int]


def by_murmur2(partitions: int) -> Home:
    """Return where producers in Java send keys."""
    return lambda key: partition_of(key, partitions, "murmur2")


def by_crc32(partitions: int) -> Home:
    """Return where producers over librdkafka send keys."""
    return lambda key: partition_of(key, partitions, "crc32")


def send(bootstrap: str, document: Document, home: Home, times: int) -> None:
    """One record of everybody, so many times."""
    values = [b'{"zone": "%b"}' % ALPHABET[turn % len(ALPHABET)].encode() for turn in range(times)]
    records = [Placed(home(key), Record(key, v, timestamp=NOW)) for v in values for key in USERS]
    produce(bootstrap, document["source"]["topic"], records)


def run_until(bootstrap: str, pipeline: Path, document: Document, releases: int, dead: int) -> str:
    """Run until so much is published, stop gracefully, and return what the pipeline said."""
    sink = document["sink"]

    def counts(topic: str, least: int) -> bool:
        """Offsets are more than records where there are transactions."""
        if sum(end_offsets(consumer, topic)) < least:
            return False
        return sum(map(len, read_topic(bootstrap, topic).values())) >= least

    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer, running(pipeline) as one:
        one.wait_until(
            lambda: counts(sink["topic"], releases) and counts(sink["dead_letters"], dead)
        )
        assert one.stop() == 0, one.stderr
        return one.stderr


def prepared(bootstrap: str, topics: TopicFactory, tmp_path: Path) -> tuple[Document, Path]:
    """A pipeline with a budget over the life of a stream, in two shards."""
    source = topics("private", partitions=FEW)
    document = document_with_topics(bootstrap, topics, source, partitions=FEW)
    document["source"]["partitioner"] = "murmur2"
    document["sink"]["create"] = True
    document["state"] |= {"shards": 2, "every": "200ms"}
    document["budget"] = {"total": float(TOTAL)}
    return document, write_pipeline(tmp_path, document, MEMORYLESS)


def extend(bootstrap: str, topic: str, partitions: int = MANY) -> None:
    """Add partitions to a topic."""
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_partitions({topic: partitions})


def check_one_budget_each(bootstrap: str, document: Document, pipeline: Path) -> Counter[bytes]:
    """No record has two releases, nobody more than the budget, and the ledger holds what is spent.

    Returns how many records of each key were released.
    """
    sanitized, _ = published(bootstrap, document)
    releases, fresh, names = Counter[bytes](), Counter[bytes](), set()
    for records in sanitized.values():
        for record in records:
            names.add(record.headers[0])
            releases[record.key or b""] += 1
            fresh[record.key or b""] += not orjson.loads(record.value or b"").get("repeated")
    assert len(names) == releases.total(), "every release has an id of its own"
    assert {key: min(TOTAL, releases[key]) for key in USERS} == dict(fresh)
    shown = orjson.loads(fugu("state", "show", pipeline, "--json"))
    spent = sum(row["mean_spent"] * row["streams"] for row in shown)
    assert abs(spent - fresh.total()) < 1e-6 * fresh.total()
    return releases


def test_an_extended_topic_keeps_every_budget_wherever_the_command_is_killed(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document, pipeline = prepared(bootstrap, topics, tmp_path)
    before, after = by_murmur2(FEW), by_murmur2(MANY)
    unmoved = [key for key in USERS if before(key) == after(key)]
    elsewhere = [key for key in USERS if before(key) != after(key) < FEW]
    unread = [key for key in USERS if after(key) >= FEW]
    assert unmoved
    assert elsewhere
    assert unread

    send(bootstrap, document, before, 3)
    run_until(bootstrap, pipeline, document, 3 * len(USERS), 0)
    extend(bootstrap, document["source"]["topic"])
    send(bootstrap, document, after, 2)
    so_far = 3 * len(USERS) + 2 * len(unmoved)
    said = run_until(bootstrap, pipeline, document, so_far, 2 * len(elsewhere))
    assert f"has {MANY} partitions, and this pipeline knows {FEW}" in said
    assert "fugu state repartition" in said

    move: list[str | Path] = ["state", "repartition", pipeline]
    killed_inside("renamed", 2, *move)
    run_until(bootstrap, pipeline, document, so_far, 2 * len(elsewhere))
    killed_inside("renamed", 5, *move)
    for _ in range(3):
        assert "Run fugu state repartition once more" in refusal(pipeline)
        assert "Run fugu state repartition once more" in refused("state", "show", pipeline)
        killed_inside("renamed", 1, *move)
    fugu(*move)
    assert "nothing to do" in fugu(*move)

    send(bootstrap, document, after, 3)
    total = so_far + 2 * len(unread) + 3 * len(USERS)
    run_until(bootstrap, pipeline, document, total, 2 * len(elsewhere))
    releases = check_one_budget_each(bootstrap, document, pipeline)
    assert {releases[key] for key in unmoved + unread} == {8}
    assert {releases[key] for key in elsewhere} == {6}


def test_another_partitioner_and_more_shards_keep_every_budget(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document, pipeline = prepared(bootstrap, topics, tmp_path)
    before, after = by_murmur2(FEW), by_crc32(FEW)
    stay = [key for key in USERS if before(key) == after(key)]
    send(bootstrap, document, before, 4)
    send(bootstrap, document, after, 1)
    so_far, dead = 4 * len(USERS) + len(stay), len(USERS) - len(stay)
    run_until(bootstrap, pipeline, document, so_far, dead)

    document["source"]["partitioner"] = "crc32"
    document["state"]["shards"] = 3
    pipeline = write_pipeline(tmp_path, document, MEMORYLESS)
    assert "fugu state repartition" in refusal(pipeline)
    fugu("state", "repartition", pipeline)
    assert "goes on here" in fugu("state", "claim", pipeline), "a shard that has not begun, too"
    send(bootstrap, document, after, 3)
    run_until(bootstrap, pipeline, document, so_far + 3 * len(USERS), dead)
    releases = check_one_budget_each(bootstrap, document, pipeline)
    assert {releases[key] for key in stay} == {8}
    assert {releases[key] for key in USERS if key not in stay} == {7}


def test_exhausted_streams_stay_exhausted_in_their_new_partition(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document, pipeline = prepared(bootstrap, topics, tmp_path)
    send(bootstrap, document, by_murmur2(FEW), TOTAL + 1)
    run_until(bootstrap, pipeline, document, (TOTAL + 1) * len(USERS), 0)
    extend(bootstrap, document["source"]["topic"])
    fugu("state", "repartition", pipeline)
    compacted = sum(
        row["compacted"] for row in orjson.loads(fugu("state", "show", pipeline, "--json"))
    )
    assert compacted >= len(USERS), "they have no key any more, only a digest"
    send(bootstrap, document, by_murmur2(MANY), 1)
    run_until(bootstrap, pipeline, document, (TOTAL + 2) * len(USERS), 0)

    fresh = Counter[bytes | None]()
    for records in published(bootstrap, document)[0].values():
        for record in records:
            fresh[record.key] += not orjson.loads(record.value or b"").get("repeated")
    assert dict(fresh) == dict.fromkeys(USERS, TOTAL)


@contextmanager
def damaged_length(directory: Path) -> Iterator[None]:
    """Make the first block of a row log longer than the log: its rows would be passed over."""
    path = max((directory / "state" / "shard-0000" / "rows").glob("*.rows"))
    content = path.read_bytes()
    path.write_bytes(content[:3] + b"\xff" + content[4:])
    try:
        yield
    finally:
        path.write_bytes(content)


def test_what_cannot_be_moved_is_refused_and_nothing_is_changed(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document, pipeline = prepared(bootstrap, topics, tmp_path)
    move: list[str | Path] = ["state", "repartition", pipeline]
    assert "there is no state" in refused(*move)
    send(bootstrap, document, by_murmur2(FEW), 1)
    sink = document["sink"]["topic"]
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as one, running(pipeline) as process:
        process.wait_until(lambda: sum(end_offsets(one, sink)) >= len(USERS))
        assert "in use" in refused(*move)
        process.kill()
    assert "did not stop gracefully" in refused(*move)
    send(bootstrap, document, by_murmur2(FEW), 1)
    run_until(bootstrap, pipeline, document, 2 * len(USERS), 0)
    assert "nothing to do" in fugu(*move)

    with damaged_length(tmp_path):
        for command in ("verify", "show"):
            assert "is damaged" in refused("state", command, pipeline)
    extend(bootstrap, document["source"]["topic"])
    document["sink"]["create"] = False
    write_pipeline(tmp_path, document, MEMORYLESS)
    assert "kafka-topics.sh --alter" in refused(*move)
    document["sink"]["create"] = True
    write_pipeline(tmp_path, document, MEMORYLESS)
    with damaged_length(tmp_path):
        assert "is damaged" in refused(*move)
    document["source"]["partitioner"] = "unchecked"
    write_pipeline(tmp_path, document, MEMORYLESS)
    assert "nobody knows where keys belong" in refused(*move)
    assert "a key that moved would get a second budget" in refusal(pipeline)
    document["source"] |= {"partitioner": "murmur2", "value": "place"}
    write_pipeline(tmp_path, document, MEMORYLESS)
    assert "Nothing was changed" in refused(*move)
    document["source"]["value"] = "zone"
    write_pipeline(tmp_path, document, MEMORYLESS)
    run_until(bootstrap, pipeline, document, 2 * len(USERS), 0)
