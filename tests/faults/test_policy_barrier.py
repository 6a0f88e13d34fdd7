"""No tick is released before the policies that were written by then are known.

Every pipeline publishes exact figures where no policy is relevant. A policy that hides all ticks
stands in its topic before they are closed, behind as many other records as may be: no figure may be
exact.
"""

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from kafka import KafkaConsumer

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
from tests.kafka.broker import Broker
from tests.kafka.pages import Pages
from tests.kafka.pipelines import Document, running
from tests.kafka.ports import free_ports
from tests.kafka.records import Placed, end_offsets, produce, read_topic
from tests.kafka.topics import TopicFactory
from tests.kafka.transactions import transactional_producer

TICKS = 50
OUTAGE_SECONDS = 5
RELEASED = TICKS - 1
"""The last tick stays open."""
KILLS = [
    ("policies read, no mark", 1),
    ("policies read, no mark", 1),
    ("a mark read", 1),
    ("policies told, no figure", 1),
    ("policies told, no figure", 7),
]
"""Points of `killed_inside`, and at which of their occurrences."""


@pytest.fixture
def document(bootstrap: str, topics: TopicFactory) -> Document:
    return exact_pipeline(bootstrap, topics)


def others(count: int) -> Iterator[Placed]:
    """Changes of policies that begin long after, for some, and else are over."""
    for number in range(count):
        start = LATER + 10 * number if number < 20 else -WEEKS
        yield addition(-WEEKS, f"other-{number}", start, start + 3, 1.0)


def hiding(begin: int) -> Placed:
    """The change that counts: in effect for weeks already, it hides all ticks from this one on."""
    return addition(-WEEKS, "typing", begin, TICKS, 4.0)


@contextmanager
def counting(bootstrap: str, document: Document) -> Iterator[Callable[[int], bool]]:
    """Tell whether so many ticks have been released."""
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        yield lambda ticks: sum(end_offsets(consumer, document["sink"]["topic"])) >= ticks


def exact(figures: Mapping[int, Mapping[str, Any]], begin: int) -> list[int]:
    """The ticks from this one on that were released as they are."""
    return [tick for tick, one in figures.items() if tick >= begin and one["status"] == "exact"]


def test_no_tick_of_a_backlog_is_released_before_all_policies_are_read(
    bootstrap: str, topics: TopicFactory, document: Document, tmp_path: Path
) -> None:
    produce(bootstrap, document["source"]["policies"], [*others(1_000), hiding(0)])
    produce(bootstrap, document["source"]["topic"], meters(0, TICKS, Random(1)))
    with (
        running(write_later_household(tmp_path, document)) as process,
        counting(bootstrap, document) as released,
    ):
        process.wait_until(partial(released, RELEASED))
        assert process.stop() == 0, process.stderr
    figures = figures_of(bootstrap, document)
    assert sorted(figures) == list(range(RELEASED))
    assert exact(figures, 0) == []
    assert {one["sensitivity"] for one in figures.values()} == {4.0}


@pytest.mark.parametrize("transactions", [False, True])
def test_what_arrives_while_a_pipeline_is_stopped_counts_from_its_next_tick_on(
    bootstrap: str, document: Document, tmp_path: Path, transactions: bool
) -> None:
    if transactions:
        document["kafka"] |= {"client": "librdkafka", "transactions": True}
    path = write_later_household(tmp_path, document)
    source, random = document["source"]["topic"], Random(2)
    begin = 12
    produce(bootstrap, source, meters(0, begin, random))
    with counting(bootstrap, document) as released:
        with running(path) as process:
            process.wait_until(partial(released, begin - 1))
            assert process.stop() == 0, process.stderr
        produce(bootstrap, source, meters(begin, TICKS, random))
        produce(bootstrap, document["source"]["policies"], [*others(100), hiding(begin)])
        with running(path) as process:
            process.wait_until(partial(released, RELEASED))
            assert process.stop() == 0, process.stderr
    figures = figures_of(bootstrap, document)
    assert sorted(figures) == list(range(RELEASED))
    assert exact(figures, 0) == list(range(begin))
    digests = [figures[tick]["policies"] for tick in sorted(figures)]
    before, after = set(digests[: begin - 1]), set(digests[begin:])
    assert len(before) == len(after) == 1
    assert before != after


@pytest.mark.acceptance
def test_a_pipeline_that_is_killed_while_it_reads_policies_releases_the_same_bytes(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source, changes = topics("power", partitions=PARTITIONS), topics("policies")
    documents = [pipeline(bootstrap, topics, source, changes) for _ in range(2)]
    for document in documents:
        document["operator"]["irrelevant"] = "exact"
    here, there = (
        write_later_household(tmp_path / name, document)
        for name, document in zip(("disturbed", "undisturbed"), documents, strict=True)
    )
    produce(bootstrap, changes, [*others(300), hiding(0)])
    for some in sorted(Random(4).sample(range(1, 301), 3)):
        with running(here) as process:
            process.wait_until(partial(have_reached_the_log, bootstrap, documents[0], some))
            process.kill()
    produce(bootstrap, source, meters(0, TICKS, Random(3)))
    for point, occurrence in KILLS:
        with running(here, killed=(point, occurrence)) as process:
            assert process.exit_code() == -signal.SIGKILL, process.stderr
    for path, document in zip((here, there), documents, strict=True):
        with running(path) as process, counting(bootstrap, document) as released:
            process.wait_until(partial(released, RELEASED))
            assert process.stop() == 0, process.stderr
    disturbed, undisturbed = (
        read_topic(bootstrap, document["sink"]["topic"]) for document in documents
    )
    assert disturbed == undisturbed
    assert exact(figures_of(bootstrap, documents[0]), 0) == []


def have_reached_the_log(bootstrap: str, document: Document, changes: int) -> bool:
    entries = read_topic(bootstrap, document["sink"]["partials"])[0]
    return sum(entry.key == b"policies" for entry in entries) >= changes


def test_figures_wait_for_policies_that_cannot_be_read_and_health_says_so(
    bootstrap: str, document: Document, tmp_path: Path
) -> None:
    changes, port = document["source"]["policies"], free_ports(1)
    path = write_later_household(tmp_path, document | {"metrics": {"port": port}})
    pages = Pages(port)
    with transactional_producer(bootstrap) as writer, counting(bootstrap, document) as released:
        with running(path) as process:
            process.wait_until(pages.is_healthy)
            writer.begin_transaction()
            hidden = hiding(0).record
            writer.send(changes, hidden.value, hidden.key, partition=0).get(timeout=30)
            produce(bootstrap, document["source"]["topic"], meters(0, TICKS, Random(5)))
            process.wait_until(lambda: changes in reason(pages))
            assert pages.sums("fugu_policy_wait_seconds")[changes] > 1
            process.wait_until(lambda: f"for topic {changes} (source.policies)" in process.stderr)
            assert process.stop() == 0, process.stderr
        with running(path) as process:  # which has read all, and still waits
            process.wait_until(pages.is_healthy)
            process.wait_until(lambda: pages.sums("fugu_policy_wait_seconds").get(changes, 0) > 1)
            assert released(1) is False
            writer.commit_transaction()
            process.wait_until(partial(released, RELEASED))
            process.wait_until(pages.is_healthy)
            process.wait_until(pages.reach("fugu_policy_wait_seconds", {changes: 0}))
            assert process.stop() == 0, process.stderr
    assert exact(figures_of(bootstrap, document), 0) == []


def reason(pages: Pages) -> str:
    """Why it is not healthy."""
    return str(orjson.loads(pages.get("/healthz")[1]).get("reason"))


@pytest.mark.acceptance
def test_figures_go_on_with_all_policies_when_kafka_comes_back(
    broker: Broker, bootstrap: str, document: Document, tmp_path: Path
) -> None:
    source, path, begin, random = (
        document["source"]["topic"],
        write_later_household(tmp_path, document),
        12,
        Random(7),
    )
    produce(bootstrap, source, meters(0, begin, random))
    with running(path) as process:
        with counting(bootstrap, document) as released:
            process.wait_until(partial(released, begin - 1))
        broker.stop()
        time.sleep(OUTAGE_SECONDS)
        assert process.process.poll() is None, process.stderr
        broker.start()
        produce(bootstrap, document["source"]["policies"], [hiding(begin)])
        produce(bootstrap, source, meters(begin, TICKS, random))
        with counting(bootstrap, document) as released:
            process.wait_until(partial(released, RELEASED))
        assert process.stop() == 0, process.stderr
    assert exact(figures_of(bootstrap, document), 0) == list(range(begin))


def test_policies_are_known_in_time_by_several_processes(
    bootstrap: str, document: Document, tmp_path: Path
) -> None:
    path = write_later_household(tmp_path, document)
    produce(bootstrap, document["source"]["policies"], [hiding(0)])
    produce(bootstrap, document["source"]["topic"], meters(0, TICKS, Random(6)))
    with running(path, "--processes", "2") as process, counting(bootstrap, document) as released:
        process.wait_until(partial(released, RELEASED))
        assert process.stop() == 0, process.stderr
    assert exact(figures_of(bootstrap, document), 0) == []
