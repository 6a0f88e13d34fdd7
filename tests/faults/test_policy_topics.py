"""Test the topic of policies itself: several writers, and what may happen to it.

A pipeline hides what the topic says, or says that it cannot know, or that it knows less than there
was; it never goes on as if nothing had happened.
"""

import signal
import time
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from threading import Thread

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition

from tests.faults.households import (
    LATER,
    PARTITIONS,
    WEEKS,
    addition,
    exact_pipeline,
    figures_of,
    meters,
    pipeline,
    write_later_household,
)
from tests.kafka.pipelines import Document, fugu, refusal, running
from tests.kafka.records import Placed, end_offsets, produce, read_topic
from tests.kafka.topics import TopicFactory
from tests.kafka.transactions import transactional_producer
from tests.thinned import first_in_test

TICKS = 30
RELEASED = TICKS - 1
"""The last tick stays open."""


@pytest.fixture
def document(bootstrap: str, topics: TopicFactory) -> Document:
    return exact_pipeline(bootstrap, topics)


def others(count: int, begin: int = 0) -> list[Placed]:
    """Changes about what begins long after."""
    return [
        addition(-WEEKS, f"other-{number}", LATER + 10 * number, LATER + 10 * number + 3, 1.0)
        for number in range(begin, begin + count)
    ]


def hiding(begin: int, end: int = TICKS, name: str = "typing") -> Placed:
    """A change that has been in effect for weeks and hides all ticks from `begin` on."""
    return addition(-WEEKS, name, begin, end, 4.0)


def run_until(
    path: Path, bootstrap: str, document: Document, ticks: int, *, kill: bool = False
) -> str:
    """Run until so many ticks are released, and return what the process said."""
    with running(path) as process, closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        sink = document["sink"]["topic"]
        process.wait_until(lambda: sum(end_offsets(consumer, sink)) >= ticks)
        if kill:
            process.kill()
        else:
            assert process.stop() == 0, process.stderr
    return process.stderr


def create_again(bootstrap: str, topic: str) -> None:
    """Delete a topic, and create it as it was, without its records."""
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.delete_topics([topic])
        while topic in admin.list_topics():
            time.sleep(0.1)
        layout = {"num_partitions": 1, "replication_factor": 1}
        admin.create_topics({topic: layout}, wait_for_metadata=True)


def exact(bootstrap: str, document: Document) -> list[int]:
    """The ticks that were released as they are."""
    figures = figures_of(bootstrap, document)
    return [tick for tick, one in figures.items() if one["status"] == "exact"]


@pytest.mark.acceptance
def test_two_writers_at_once_and_kills_anywhere_leave_the_same_figures(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """Both write while one of two pipelines reads, and is killed at offsets of its log."""
    source, changes = topics("power", partitions=PARTITIONS), topics("policies")
    documents = [pipeline(bootstrap, topics, source, changes) for _ in range(2)]
    paths = [
        write_later_household(tmp_path / name, document)
        for name, document in zip(("undisturbed", "disturbed"), documents, strict=True)
    ]
    lists = [
        [hiding(start, start + 1, f"{name}-{start}") for start in range(place, TICKS, 4)]
        for place, name in enumerate(("anne", "bert"))
    ]
    writers = [
        Thread(target=slowly, args=(bootstrap, changes, [*one, *others(100, 200 * place)]))
        for place, one in enumerate(lists)
    ]
    for writer in writers:
        writer.start()
    random = Random(7)
    for number in range(5):
        with running(paths[1]) as process:
            some = 15 * number + random.randrange(1, 15)
            process.wait_until(partial(have_reached_the_log, bootstrap, documents[1], some))
            process.kill()
    for writer in writers:
        writer.join()
    produce(bootstrap, source, meters(0, TICKS, Random(1)))
    for released in sorted(random.sample(range(1, RELEASED), 3)):
        run_until(paths[1], bootstrap, documents[1], released, kill=True)
    for path, document in zip(paths, documents, strict=True):
        run_until(path, bootstrap, document, RELEASED)
    undisturbed, disturbed = (read_topic(bootstrap, one["sink"]["topic"]) for one in documents)
    assert disturbed == undisturbed
    hidden = [tick for tick in range(RELEASED) if tick % 4 != 3]
    asked = {tick: one["sensitivity"] for tick, one in figures_of(bootstrap, documents[0]).items()}
    assert [tick for tick in sorted(asked) if asked[tick] > 0] == hidden


def slowly(bootstrap: str, topic: str, placed: Sequence[Placed]) -> None:
    """Write records one by one."""
    for one in placed:
        produce(bootstrap, topic, [one])


def have_reached_the_log(bootstrap: str, document: Document, changes: int) -> bool:
    entries = read_topic(bootstrap, document["sink"]["partials"])[0]
    return sum(entry.key == b"policies" for entry in entries) >= changes


@pytest.mark.parametrize(
    "records", first_in_test([40, 3], 1), ids=["with more records", "with fewer records"]
)
def test_a_topic_that_was_deleted_and_created_again_is_refused(
    bootstrap: str, document: Document, tmp_path: Path, records: int
) -> None:
    """Its first records would be skipped: offsets of the new topic say nothing about the old."""
    path, changes = write_later_household(tmp_path, document), document["source"]["policies"]
    produce(bootstrap, changes, others(10))
    produce(bootstrap, document["source"]["topic"], meters(0, 10, Random(1)))
    run_until(path, bootstrap, document, 9)
    create_again(bootstrap, changes)
    produce(bootstrap, changes, [hiding(10), *others(records)])
    produce(bootstrap, document["source"]["topic"], meters(10, TICKS, Random(2)))
    said = refusal(path)
    assert f"topic {changes}: was" in said
    assert "the topic of policies (source.policies) was deleted and created again" in said
    assert "What was spent stays in the state" in said
    assert "the source topic" not in said
    assert max(figures_of(bootstrap, document)) < 10


@pytest.mark.parametrize(
    "records", first_in_test([40, 3], 1), ids=["with more records", "with fewer records"]
)
def test_a_topic_that_is_deleted_and_created_again_while_a_pipeline_runs_makes_nothing_exact(
    bootstrap: str, document: Document, tmp_path: Path, records: int
) -> None:
    """The pipeline, which sees nothing in between, may end, or wait for somebody to look."""
    path, changes = write_later_household(tmp_path, document), document["source"]["policies"]
    source, sink = document["source"]["topic"], document["sink"]["topic"]
    produce(bootstrap, changes, others(10))
    produce(bootstrap, source, meters(0, 10, Random(1)))
    with running(path) as process, closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        process.wait_until(lambda: sum(end_offsets(consumer, sink)) >= 9)
        process.process.send_signal(signal.SIGSTOP)
        create_again(bootstrap, changes)
        produce(bootstrap, changes, [hiding(10), *others(records)])
        produce(bootstrap, source, meters(10, TICKS, Random(2)))
        process.process.send_signal(signal.SIGCONT)
        try:
            process.wait_until(lambda: sum(end_offsets(consumer, sink)) >= RELEASED, seconds=20)
        except AssertionError:
            assert changes in process.stderr
    assert [tick for tick in exact(bootstrap, document) if tick >= 10] == []


@pytest.mark.acceptance
def test_a_new_pipeline_says_that_changes_are_gone_by_retention(
    bootstrap: str, document: Document, tmp_path: Path
) -> None:
    path, changes = write_later_household(tmp_path, document), document["source"]["policies"]
    produce(bootstrap, changes, [hiding(0), *others(10)])
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.delete_records({TopicPartition(changes, 0): 5})
    produce(bootstrap, document["source"]["topic"], meters(0, TICKS, Random(1)))
    said = run_until(path, bootstrap, document, RELEASED)
    assert f"topic {changes} (source.policies) begins at offset 5" in said


@pytest.mark.parametrize(
    "settings", first_in_test([{"cleanup.policy": "compact"}, {"retention.ms": "1000000"}], 1)
)
def test_validate_warns_of_a_topic_that_loses_changes(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, settings: dict[str, str]
) -> None:
    source = topics("power", partitions=PARTITIONS)
    changes = topics("policies", configs=settings)
    document = pipeline(bootstrap, topics, source, changes)
    said = fugu("validate", "--kafka", write_later_household(tmp_path, document))
    assert next(iter(settings.values())) in said


def test_changes_of_a_transaction_that_is_aborted_do_not_count(
    bootstrap: str, document: Document, tmp_path: Path
) -> None:
    path, changes = write_later_household(tmp_path, document), document["source"]["policies"]
    with transactional_producer(bootstrap) as writer:
        for placed, commits in [
            (hiding(0, 4, "never"), False),
            (hiding(8, 11, "counts"), True),
            (hiding(16, 20, "neither"), False),
        ]:
            writer.begin_transaction()
            record = placed.record
            writer.send(changes, record.value, record.key, partition=0).get(timeout=30)
            writer.commit_transaction() if commits else writer.abort_transaction()
    produce(bootstrap, document["source"]["topic"], meters(0, TICKS, Random(1)))
    run_until(path, bootstrap, document, RELEASED)
    assert sorted(set(range(RELEASED)) - set(exact(bootstrap, document))) == [8, 9, 10, 11]


def test_a_topic_with_two_partitions_is_refused(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source, changes = topics("power", partitions=PARTITIONS), topics("policies", partitions=2)
    said = refusal(write_later_household(tmp_path, pipeline(bootstrap, topics, source, changes)))
    assert f"topic {changes} (source.policies) has 2 partitions" in said


def test_partitions_that_a_topic_gets_while_a_pipeline_runs_do_not_go_unnoticed(
    bootstrap: str, document: Document, tmp_path: Path
) -> None:
    """Changes there would never be read."""
    path, changes = write_later_household(tmp_path, document), document["source"]["policies"]
    source = document["source"]["topic"]
    produce(bootstrap, source, meters(0, 10, Random(1)))
    run_until(path, bootstrap, document, 9)
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_partitions({changes: 2})
    said = refusal(path)
    assert f"topic {changes} (source.policies) has 2 partitions" in said
