"""Users that a field of a record names, in partitions by user or written there first."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition

from fugu.dataflows.kafka.partitioner import partition_of
from tests.kafka.pages import Pages
from tests.kafka.pipelines import (
    MEMORYLESS,
    Document,
    RunningPipeline,
    check_refusal,
    pipeline_document,
    refusal,
    running,
    write_pipeline,
)
from tests.kafka.ports import free_ports
from tests.kafka.records import Placed, Record, produce, read_topic
from tests.kafka.topics import TopicFactory
from tests.thinned import first_in_test

PARTITIONS = 3
USERS = [f"canary-{number}" for number in range(12)]
STORES = pytest.mark.parametrize("store", first_in_test(["disk", "kafka"], 1))
BAD: list[tuple[bytes | None, str, str | None]] = [
    (orjson.dumps({"zone": "light", "user": {"id": None}}), "no_key", "user.id"),
    (orjson.dumps({"zone": "light", "user": {"id": 1.5}}), "wrong_type", "user.id"),
    (orjson.dumps({"zone": "light"}), "field_missing", "user.id"),
    (b'{"zone": "light", "user": {"id": "\\ud83d"}}', "wrong_type", "user.id"),
    (b"canary", "not_json", None),
    (None, "tombstone", None),
    (orjson.dumps({"zone": "canary", "user": {"id": "canary-0"}}), "outside_domain", "zone"),
    (orjson.dumps({"zone": "light", "user": {"id": "x" * 70_000}}), "too_large", "user.id"),
    (
        orjson.dumps({"zone": "light", "user": {"id": "x"}, "much": "x" * 999_999}),
        "too_large",
        None,
    ),
]


def record(user: object, zone: str = "light", key: bytes | None = b"canary-key") -> Record:
    return Record(key, orjson.dumps({"zone": zone, "user": {"id": user}, "note": "canary"}))


def document_of(bootstrap: str, source: str, store: str, *, repartition: bool) -> Document:
    document = pipeline_document(bootstrap, source, f"{source}.out")
    document["name"] = source.removeprefix("fugu-test-")
    key = {"field": "user.id"} | ({"repartition": True} if repartition else {})
    document["source"] |= {"key": key, "partitioner": "auto"}
    document["kafka"] |= {"client": "librdkafka"}
    if store == "kafka":
        document["state"] = {"store": "kafka", "every": "200ms"}
    return document


@contextmanager
def until(
    pipeline: Path, bootstrap: str, ends: dict[str, int], *more: str
) -> Iterator[RunningPipeline]:
    """Run until topics hold so many records."""
    with (
        running(pipeline, *more) as process,
        closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer,
    ):

        def reached() -> bool:
            found = {topic: topic in consumer.topics() for topic in ends}
            return all(found.values()) and all(
                counted(bootstrap, topic) >= count for topic, count in ends.items()
            )

        process.wait_until(reached)
        yield process


def counted(bootstrap: str, topic: str) -> int:
    return sum(len(records) for records in read_topic(bootstrap, topic).values())


def letters(bootstrap: str, topic: str) -> list[dict[str, Any]]:
    found = read_topic(bootstrap, topic).values()
    return [orjson.loads(one.value or b"") for records in found for one in records]


def test_a_field_names_the_user_where_producers_choose_partitions_by_it(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source = topics("field-keys", partitions=PARTITIONS)
    homes = {user: partition_of(user.encode(), PARTITIONS) for user in [*USERS, "4711"]}
    good = [Placed(homes[user], record(user, key=None)) for user in USERS]
    good.append(Placed(homes["4711"], record(4711)))
    astray = Placed((homes["canary-3"] + 1) % PARTITIONS, record("canary-3"))
    bad = [Placed(0, Record(b"k", value)) for value, _, _ in BAD]
    produce(bootstrap, source, [*good, astray, *bad])
    document = document_of(bootstrap, source, "disk", repartition=False)
    document["source"]["partitioner"] = "murmur2"
    pipeline = write_pipeline(tmp_path, document)
    with until(pipeline, bootstrap, {f"{source}.out.dead": len(BAD) + 1}) as process:
        assert process.stop() == 0, process.stderr
    released = read_topic(bootstrap, f"{source}.out")
    assert {place: len(records) for place, records in released.items()} == Counter(homes.values())
    told = letters(bootstrap, f"{source}.out.dead")
    assert ("wrong_partition", None) in [(one["reason"], one["field"]) for one in told]
    reasons = Counter((reason, field) for _, reason, field in BAD)
    assert Counter((one["reason"], one["field"]) for one in told) - reasons == Counter(
        {("wrong_partition", None): 1}
    )
    assert "canary" not in process.stderr + repr(told) + repr(released)


@STORES
def test_records_of_a_user_meet_whatever_partition_they_were_sent_to(
    store: str, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source = topics("strewn", partitions=PARTITIONS)
    document = document_of(bootstrap, source, store, repartition=True)
    by_user = f"{document['name']}.by-user"
    document["operator"] |= {"epsilon": 1.0}
    port = free_ports(1)
    document["metrics"] = {"port": port}
    document["budget"] = {"total": 4.0, "when_exhausted": "suppress"}
    strewn = [
        Placed((number + turn) % PARTITIONS, record(user))
        for turn in range(3)
        for number, user in enumerate(USERS)
    ]
    bad = [Placed(number % PARTITIONS, Record(b"k", one[0])) for number, one in enumerate(BAD)]
    produce(bootstrap, source, strewn + bad)
    pipeline = write_pipeline(tmp_path, document, MEMORYLESS)
    sink, dead = f"{source}.out", f"{source}.out.dead"
    with until(pipeline, bootstrap, {dead: len(BAD), sink: len(strewn)}) as process:
        produce(bootstrap, by_user, [Placed(0, record("canary-0", key=b"canary-0"))])
        process.wait_until(lambda: counted(bootstrap, dead) == len(BAD) + 1)
        process.kill()
    produce(bootstrap, source, strewn)
    with until(pipeline, bootstrap, {by_user: 2 * len(strewn) + len(BAD) + 1}) as process:
        pages = Pages(port)
        process.wait_until(lambda: source in pages.sums("fugu_lag_records"))
        assert pages.sums("fugu_records_in_total")[source] == len(strewn)
        process.wait_until(lambda: counted(bootstrap, sink) >= 4 * len(USERS))
        time.sleep(1.0)
        assert process.stop() == 0, process.stderr
    released = read_topic(bootstrap, sink)
    homes = Counter(partition_of(user.encode(), PARTITIONS) for user in USERS)
    assert {place: len(some) for place, some in released.items()} == {
        place: 4 * homes[place] for place in range(PARTITIONS)
    }, "each user spends its budget once, over the kill"
    written = read_topic(bootstrap, by_user)
    origins = [one.key for records in written.values() for one in records]
    assert len(origins) == len(set(origins)), "each record is written once"
    told = letters(bootstrap, dead)
    original = {(one["topic"], one["partition"]): one for one in told}
    assert {topic for topic, _ in original} == {source, by_user}
    for number, (_, reason, field) in enumerate(BAD):
        place = number % PARTITIONS
        mine = [one for one in told if (one["topic"], one["partition"]) == (source, place)]
        assert (reason, field) in [(one["reason"], one["field"]) for one in mine]
    [foreign] = [one for one in told if one["topic"] == by_user]
    assert foreign["reason"] == "not_forwarded"
    assert "canary" not in process.stderr + repr(told) + repr(released) + repr(pages.seen)


def test_what_cannot_write_in_transactions_is_refused(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document = document_of(bootstrap, topics("refused"), "disk", repartition=True)
    document["kafka"] |= {"client": "kafka-python"}
    said = refusal(write_pipeline(tmp_path, document))
    assert "source.key.repartition" in said
    assert "kafka.client: kafka-python" in said


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("a cut written, no positions", marks=pytest.mark.acceptance),
        "positions sent, no commit",
        pytest.param("committed, not known", marks=pytest.mark.acceptance),
    ],
)
def test_a_kill_inside_of_a_cut_writes_no_record_twice_and_loses_none(
    point: str,
    bootstrap: str,
    topics: TopicFactory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FUGU_INSTANCE", "one")  # whose next start ends what was left open
    source = topics("killed-by-user", partitions=PARTITIONS)
    document = document_of(bootstrap, source, "disk", repartition=True)
    by_user, sink = f"{document['name']}.by-user", f"{source}.out"
    strewn = [Placed(number % PARTITIONS, record(user)) for number, user in enumerate(USERS * 5)]
    produce(bootstrap, source, strewn)
    pipeline = write_pipeline(tmp_path, document)
    with running(pipeline, killed=(point, 1)) as process:
        assert process.exit_code() < 0
    with until(pipeline, bootstrap, {sink: len(strewn)}) as process:
        assert process.stop() == 0, process.stderr
    require_each_once(bootstrap, by_user, strewn)
    assert counted(bootstrap, sink) == len(strewn)


@pytest.mark.acceptance
def test_positions_that_kafka_has_forgotten_are_found_again(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source = topics("forgotten", partitions=PARTITIONS)
    document = document_of(bootstrap, source, "disk", repartition=True)
    by_user, sink = f"{document['name']}.by-user", f"{source}.out"
    strewn = [Placed(number % PARTITIONS, record(user)) for number, user in enumerate(USERS * 2)]
    pipeline = write_pipeline(tmp_path, document)
    for turn in (1, 2):
        produce(bootstrap, source, strewn)
        with until(pipeline, bootstrap, {sink: turn * len(strewn)}) as process:
            assert process.stop() == 0, process.stderr
        with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
            admin.delete_groups([f"fugu.{document['name']}.by-user"])
    require_each_once(bootstrap, by_user, strewn * 2)
    assert counted(bootstrap, sink) == 2 * len(strewn)
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.delete_records({TopicPartition(by_user, 0): -1})
    with running(pipeline) as process:
        said = check_refusal(process)
    assert f"retention removed records of {by_user}" in said
    assert "Set the position of every partition" in said
    assert counted(bootstrap, sink) == 2 * len(strewn)


def test_a_copy_goes_on_writing_for_one_that_died(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source = topics("two-copies", partitions=PARTITIONS)
    document = document_of(bootstrap, source, "kafka", repartition=True)
    by_user, sink = f"{document['name']}.by-user", f"{source}.out"
    strewn = [Placed(number % PARTITIONS, record(user)) for number, user in enumerate(USERS * 5)]
    pipeline = write_pipeline(tmp_path, document)
    with running(pipeline) as first:
        first.wait_until_started()
        with until(pipeline, bootstrap, {sink: 0}) as second:
            second.wait_until_started()
            produce(bootstrap, source, strewn)
            second.wait_until(lambda: counted(bootstrap, sink) >= len(strewn))
            first.kill()
            produce(bootstrap, source, strewn)
            second.wait_until(lambda: counted(bootstrap, sink) >= 2 * len(strewn))
            assert second.stop() == 0, second.stderr
    require_each_once(bootstrap, by_user, strewn * 2)
    assert counted(bootstrap, sink) == 2 * len(strewn)


def require_each_once(bootstrap: str, by_user: str, placed: Sequence[Placed]) -> None:
    """Every record is in the internal topic once."""
    origins = [one.key or b"" for some in read_topic(bootstrap, by_user).values() for one in some]
    assert len(set(origins)) == len(origins)
    wanted = Counter(b"%d" % one.partition for one in placed)
    assert Counter(origin.split(b"/")[0] for origin in origins) == wanted
