"""Records that were refused for where their keys stood are released once, from one budget."""

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

import orjson
import pytest
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition

from fugu.dataflows.publishing.ledger_topic import ledger_key
from tests.faults.feeding import document_with_topics
from tests.faults.killing import ended_or_killed, killed_inside
from tests.faults.outcomes import published
from tests.faults.test_repartition import (
    FEW,
    TOTAL,
    USERS,
    by_crc32,
    by_murmur2,
    check_one_budget_each,
    prepared,
    run_until,
)
from tests.kafka.clients import CHOSEN, kafka_section
from tests.kafka.pipelines import (
    ALPHABET,
    MEMORYLESS,
    Document,
    fugu,
    refusal,
    refused,
    write_pipeline,
)
from tests.kafka.records import NOW, Placed, Record, produce, read_topic
from tests.kafka.topics import TopicFactory
from tests.thinned import first_in_test

MOVED = [key for key in USERS if by_murmur2(FEW)(key) != by_crc32(FEW)(key)]
STAY = [key for key in USERS if key not in MOVED]
EARLY, LATE = 3, 4
"""Records of everybody before producers changed, and after: together more than the budget."""


def history() -> list[Placed]:
    """Records with times of their own: first where murmur2 sends them, and then crc32."""
    homes = [by_murmur2(FEW)] * EARLY + [by_crc32(FEW)] * LATE
    every = [(home, key) for home in homes for key in USERS]
    return [
        Placed(home(key), Record(key, b'{"zone": "%b"}' % zone(at), timestamp=NOW + at))
        for at, (home, key) in enumerate(every)
    ]


def zone(at: int) -> bytes:
    """A value that changes from record to record."""
    return ALPHABET[at * at % len(ALPHABET)].encode()


def killed_at(point: str, pipeline: Path) -> Iterator[None]:
    """Run the command, killed at the first occurrence of a point, the second, until it ends."""
    for occurrence in count(1):
        if ended_or_killed(point, occurrence, "redrive", pipeline) == 0:
            return
        yield


def refused_records(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, *, transactions: bool
) -> tuple[Document, Path, Document, Path]:
    """Two pipelines over one source that have refused the same records, and moved their rows."""
    kafka = kafka_section(bootstrap, "librdkafka" if transactions else CHOSEN)
    kafka |= {"transactions": True} if transactions else {}
    document, pipeline = prepared(bootstrap, topics, tmp_path / "killed")
    produce(bootstrap, document["source"]["topic"], history())
    other = document_with_topics(bootstrap, topics, document["source"]["topic"], partitions=FEW)
    whole = {**document, "sink": {**other["sink"], "create": True}}
    paths = [pipeline, tmp_path / "whole" / "pipeline.yaml"]
    for one, path in zip((document, whole), paths, strict=True):
        ledger = topics("ledger", partitions=1, configs={"cleanup.policy": "compact"})
        one["ledger"] = {"topic": ledger}
        one["kafka"] = kafka
        path = write_pipeline(path.parent, one, MEMORYLESS)
        released, dead = EARLY * len(USERS) + LATE * len(STAY), LATE * len(MOVED)
        run_until(bootstrap, path, one, released, dead)
        one["source"] = one["source"] | {"partitioner": "crc32"}
        write_pipeline(path.parent, one, MEMORYLESS)
        fugu("state", "repartition", path)
    return document, paths[0], whole, paths[1]


def newest_spending(bootstrap: str, document: Document) -> dict[bytes, bytes]:
    """Return the last spending of each stream in the ledger, in the partition of its row."""
    records = chain.from_iterable(read_topic(bootstrap, document["ledger"]["topic"]).values())
    entries = {record.key or b"": record.value or b"" for record in records}
    return {key: value for key, value in entries.items() if b"user-" in key}


@pytest.mark.parametrize(
    ("points", "transactions"),
    first_in_test(
        [
            (["published, no snapshot", "sink snapshot taken"], True),
            (["renamed"], False),
            (["published, no snapshot", "sink snapshot taken"], False),
        ],
        1,
    ),
)
def test_every_refused_record_is_released_once_wherever_the_command_is_killed(
    bootstrap: str,
    topics: TopicFactory,
    tmp_path: Path,
    points: list[str],
    transactions: bool,
) -> None:
    document, pipeline, other, whole = refused_records(
        bootstrap, topics, tmp_path, transactions=transactions
    )
    total = LATE * len(MOVED)
    foretold = orjson.loads(fugu("redrive", pipeline, "--dry-run", "--json"))
    assert (foretold["records"], foretold["released"]) == (total, (TOTAL - EARLY) * len(MOVED))

    *first, last = points
    for point in first:
        killed_inside(point, 2, "redrive", pipeline)
        assert "Run fugu redrive once more" in refusal(pipeline)
        assert "Run fugu redrive once more" in refused("state", "show", pipeline)
        assert "fugu redrive was cut short" in refused("state", "repartition", pipeline)
    kills = len(list(killed_at(last, pipeline)))
    assert kills > 3
    said = fugu("redrive", whole)
    assert f"drove {total:,} records again: {foretold['released']} released" in said
    assert f"{total - foretold['released']} repeated" in said
    assert "drove 0 records" in fugu("redrive", pipeline)

    killed, expected = (published(bootstrap, one) for one in (document, other))
    assert killed == expected, "a command that was killed publishes the same bytes"
    spending = newest_spending(bootstrap, document)
    assert spending == newest_spending(bootstrap, other)
    rows = [(document["name"], by_crc32(FEW)(key), key.decode()) for key in MOVED]
    assert all(orjson.loads(spending[ledger_key(*row)])["exhausted"] for row in rows)
    sanitized, dead_letters = killed
    found = [(r.key, r.timestamp) for records in sanitized.values() for r in records]
    assert sorted(found) == sorted((p.record.key, p.record.timestamp) for p in history())
    driven = {(letter.timestamp) for letters in dead_letters.values() for letter in letters}
    for partition, records in sanitized.items():
        homes = {by_crc32(FEW)(r.key or b"") for r in records if r.timestamp in driven}
        assert homes <= {partition}, "released where their row lives now"
    check_one_budget_each(bootstrap, document, pipeline)

    more = [Placed(by_crc32(FEW)(key), Record(key, b'{"zone": "rest"}')) for key in USERS]
    produce(bootstrap, document["source"]["topic"], more)
    said = run_until(bootstrap, pipeline, document, len(history()) + len(more), total)
    assert "recognised" not in said
    releases = check_one_budget_each(bootstrap, document, pipeline)
    assert set(releases.values()) == {EARLY + LATE + 1}


@pytest.mark.acceptance
def test_only_dead_letters_of_the_pipeline_itself_and_of_the_chosen_time_are_believed(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """Without a move: rows live where the pipeline's partitioner says, and so do releases."""
    document, pipeline = prepared(bootstrap, topics, tmp_path)
    document["operator"] = {"kind": "grr", "alphabet": ALPHABET, "epsilon": 1.0}
    write_pipeline(tmp_path, document)
    source, sink = document["source"]["topic"], document["sink"]
    produce(bootstrap, source, history())
    so_far = EARLY * len(USERS) + LATE * len(STAY)
    run_until(bootstrap, pipeline, document, so_far, LATE * len(MOVED))
    [letter] = [letters[0] for letters in read_topic(bootstrap, sink["dead_letters"]).values()][:1]
    place = {"topic": source, "partition": 0, "offset": 0}
    told = orjson.dumps({**place, "reason": "wrong_partition", "field": None})
    produce(bootstrap, sink["dead_letters"], [Placed(0, Record(None, told, letter.headers))])

    half = [p.record.timestamp for p in history() if p.record.key in MOVED][EARLY * len(MOVED) :]
    moment = NOW + len(USERS) * (EARLY + 2)
    early = sum(timestamp < moment for timestamp in half)
    until = f"{moment // 1000}"
    assert "write a time such as" in refused("redrive", pipeline, "--until", until)
    first = orjson.loads(fugu("redrive", pipeline, "--until", iso(moment), "--json"))
    assert (first["records"], first["released"], first["foreign"]) == (early, early, 1)
    check_positions(bootstrap, topics, document, tmp_path)
    gone = keep_newest(bootstrap, document, moment)
    second = fugu("redrive", pipeline, "--since", "3650d")
    assert f"drove {len(half) - early} records again" in second
    assert f"{gone} gone from the source" in second
    assert "Left alone because the present key does not make their names: 1" in second

    sanitized, _ = published(bootstrap, document)
    for partition, records in sanitized.items():
        assert {by_murmur2(FEW)(r.key or b"") for r in records} == {partition}
    check_one_budget_each(bootstrap, document, pipeline)
    run_until(bootstrap, pipeline, document, len(history()) - gone, 0)

    again = orjson.loads(fugu("redrive", pipeline, "--json"))
    assert (again["records"], again["gone"], again["foreign"]) == (gone, gone, 1)
    document["secret"] = {"file": str(tmp_path / "next.keys"), "encoding": "keys"}
    fugu("state", "rotate", pipeline, "--keys", tmp_path / "next.keys")
    write_pipeline(tmp_path, document)
    rotated = orjson.loads(fugu("redrive", pipeline, "--json"))
    assert (rotated["records"], rotated["foreign"]) == (0, len(half) + 1)
    shutil.rmtree(tmp_path / "state" / "redrive")
    assert "Restore the state directory as a whole" in refused("redrive", pipeline)


def check_positions(
    bootstrap: str, topics: TopicFactory, document: Document, tmp_path: Path
) -> None:
    """Late releases are those that the same records would have had at once.

    A fresh release of grr depends on key, position and value alone. A pipeline that checks no
    partitions releases every record where it stands.
    """
    source = document["source"]["topic"]
    at_once = document_with_topics(bootstrap, topics, source, partitions=FEW)
    at_once["source"]["partitioner"] = "unchecked"
    at_once |= {"operator": document["operator"], "budget": document["budget"]}
    pipeline = write_pipeline(tmp_path / "at once", at_once)
    run_until(bootstrap, pipeline, at_once, len(history()), 0)
    late, expected = (fresh_releases(bootstrap, one) for one in (document, at_once))
    both = late.keys() & expected.keys()
    assert len(both) > EARLY * len(USERS)
    assert {time: late[time] for time in both} == {time: expected[time] for time in both}


def fresh_releases(bootstrap: str, document: Document) -> dict[int, tuple[bytes, str]]:
    """The id and the symbol of every release that is not repeated, by the time of its record."""
    found = {}
    for records in read_topic(bootstrap, document["sink"]["topic"]).values():
        for record in records:
            release = orjson.loads(record.value or b"")
            if not release.get("repeated"):
                found[record.timestamp] = (record.headers[0][1], release["zone"])
    return found


def keep_newest(bootstrap: str, document: Document, moment: int) -> int:
    """Let retention remove a partition; return how many refused records went that are so new."""
    refused = published(bootstrap, document)[1]
    partition = max(refused, key=lambda one: len(refused[one]))
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        whole = TopicPartition(document["source"]["topic"], partition)
        with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
            admin.delete_records(consumer.end_offsets([whole]))
    genuine = [letter for letter in refused[partition] if letter.timestamp >= moment]
    return sum(orjson.loads(letter.value or b"")["offset"] > 0 for letter in genuine)


def iso(milliseconds: int) -> str:
    """A moment as people write it."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()


def test_keys_that_had_no_room_are_released_when_there_is_room(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document, pipeline = prepared(bootstrap, topics, tmp_path)
    document["state"]["max_keys"] = 4 * FEW
    write_pipeline(tmp_path, document, MEMORYLESS)
    placed = [item for item in history() if item.record.timestamp < NOW + len(USERS)]
    produce(bootstrap, document["source"]["topic"], placed)
    homes = Counter(map(by_murmur2(FEW), USERS))
    known = sum(min(4, number) for number in homes.values())
    run_until(bootstrap, pipeline, document, known, len(USERS) - known)

    drive: list[str | Path] = ["redrive", pipeline, "--reason", "too_many_keys", "--json"]
    full = orjson.loads(fugu(*drive))
    assert full["refused"] == {"too_many_keys": len(USERS) - known}
    assert full["released"] == 0
    document["state"]["max_keys"] = 1_000
    write_pipeline(tmp_path, document, MEMORYLESS)
    assert orjson.loads(fugu(*drive))["released"] == len(USERS) - known
    assert orjson.loads(fugu(*drive))["records"] == 0
    assert set(check_one_budget_each(bootstrap, document, pipeline).values()) == {1}


def test_what_would_tell_of_values_or_has_no_place_is_refused(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document, pipeline = prepared(bootstrap, topics, tmp_path)
    told = refused("redrive", pipeline, "--reason", "outside_domain")
    assert "would tell readers that the value was refused before" in told
    assert "there is no state" in refused("redrive", pipeline)
    del document["budget"], document["operator"]["epsilon"]
    document["operator"] |= {"kind": "batched_crr", "window": 4, "epsilon_per_batch": 1}
    write_pipeline(tmp_path, document, MEMORYLESS)
    assert "cannot be driven again" in refused("redrive", pipeline)
