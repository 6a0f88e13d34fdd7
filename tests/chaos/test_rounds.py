"""Brokers and copies are lost and come back, each in its own way, and nothing of it shows."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest

from tests.chaos.copies import Store
from tests.chaos.faults import (
    OF_BROKERS,
    OF_COPIES,
    Fault,
    kill_a_copy,
    kill_a_copy_twice,
    kill_all_copies,
    pause_a_copy,
    scale,
)
from tests.chaos.loads import NAMES, City, Name, Streams, load_of
from tests.chaos.outcome import Followed, check_no_release_twice, check_one_content
from tests.chaos.rounds import Plan, Rounds, plans, sinks_of
from tests.faults.copies import in_kafka
from tests.faults.feeding import PARTITIONS, paced_feed
from tests.faults.test_copy_crashes import is_back
from tests.kafka.broker import Broker
from tests.kafka.cluster import Cluster
from tests.kafka.pages import Pages
from tests.kafka.pipelines import MEMORYLESS, running, write_pipeline
from tests.kafka.ports import free_ports
from tests.kafka.records import read_topic
from tests.kafka.topics import TopicFactory

SEED = 26
ROUNDS = 20
"""The number of rounds that `make test` plays, of one fault each."""
SOON_SECONDS = 1.0
"""The next fault comes before all have recovered from the last one."""
SHORT = (kill_a_copy, kill_all_copies, kill_a_copy_twice, pause_a_copy, scale)
"""Faults that take the least time, each of which makes others take partitions over."""
RECORDS = 2_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        yield cluster


@pytest.mark.slow
def test_copies_that_bound_and_merge_release_after_twenty_faults_what_one_run_releases(
    broker: Broker, tmp_path: Path
) -> None:
    load = City.of(ROUNDS, SEED)
    rounds = Rounds(broker, tmp_path, load, store="kafka", seed=SEED)
    with rounds.running() as running:
        for plan in plans(ROUNDS, SHORT, SEED, load.per_round):
            running.play(plan, seconds=SOON_SECONDS)


@pytest.mark.acceptance
@pytest.mark.parametrize("load", NAMES)
@pytest.mark.parametrize("store", get_args(Store))
@pytest.mark.parametrize("faults", [OF_BROKERS, OF_COPIES], ids=["brokers", "copies"])
def test_topics_equal_those_of_peace_after_every_fault(
    cluster: Cluster, tmp_path: Path, faults: Sequence[Fault], store: Store, load: Name
) -> None:
    given = load_of(load, len(faults), SEED)
    rounds = Rounds(cluster, tmp_path, given, store=store, seed=SEED)
    with rounds.running() as running:
        for number, fault in enumerate(faults):
            running.play(Plan(number, [(given.per_round // 2, fault)]))
    if faults is OF_COPIES and store == "kafka" and load == "streams":
        assert rounds.aborted > 0, "some fault hit between the publication and the commit"


@pytest.mark.acceptance
def test_a_copy_that_is_cut_off_says_so_and_publishes_nothing_of_what_it_held(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Let what a copy had sent reach the brokers after another one has gone on."""
    load = Streams.of(1, SEED, RECORDS)
    topics = TopicFactory(cluster.bootstrap, cluster.replicas)
    source = topics("private", partitions=PARTITIONS)
    document = in_kafka(load.document(cluster.bootstrap, topics, source))
    port = free_ports(1)
    relayed = document | {
        "kafka": document["kafka"] | {"bootstrap": cluster.relayed},
        "metrics": {"port": port},
    }
    sinks = sinks_of(document)
    with (
        paced_feed(cluster.bootstrap, document, load.stream) as feed,
        closing(Followed(cluster.bootstrap, sinks)) as followed,
        running(write_pipeline(tmp_path / "cut", relayed, MEMORYLESS)) as cut,
    ):

        def fed(count: int) -> bool:
            feed.feed(count - feed.fed)
            return load.done(followed.read_on()) >= count

        cut.wait_until(lambda: fed(RECORDS // 4))
        assert Pages(port).is_healthy()
        feed.feed(RECORDS // 4)
        for relay in cluster.relays:
            relay.cut()
        with running(write_pipeline(tmp_path / "other", document, MEMORYLESS)) as other:
            other.wait_until(lambda: fed(3 * RECORDS // 4))
            cut.wait_until(lambda: "Kafka has not answered" in cut.stderr)
            assert not Pages(port).is_healthy()
            for relay in cluster.relays:
                relay.mend(late=True)
            other.wait_until(lambda: is_back(cut))
            other.wait_until(lambda: fed(RECORDS))
            assert other.stop() == 0, other.stderr
        for topic in followed.read_on():
            check_no_release_twice(topic)
    for sink in sinks:
        check_one_content(read_topic(cluster.bootstrap, sink, "read_uncommitted"))
