"""A state is not written anew from a backup that is older than what is published."""

import time
from contextlib import closing
from pathlib import Path
from shutil import copytree, rmtree

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.flows.newest_copy import require_nothing_behind
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.connection import Connection
from tests.faults.feeding import PARTITIONS, PacedFeed, document_with_topics, paced_feed, stream
from tests.faults.outcomes import check_one_outcome_each, published
from tests.kafka.clients import connected
from tests.kafka.pipelines import fugu, refusal, refused, running, write_pipeline
from tests.kafka.records import Placed, Record, end_offsets, produce
from tests.kafka.topics import TopicFactory
from tests.kafka.transactions import transaction, transactional_producer

RECORDS = 1_500
OLDER = "it is an older copy, and would not be charged with it"


def run_until(pipeline: Path, feed: PacedFeed, target: int) -> None:
    """Run until all that was fed is published, and stop."""
    with running(pipeline) as process:
        process.wait_until(lambda: feed.published() >= target)
        assert process.stop() == 0, process.stderr


def test_a_backup_is_brought_up_to_what_is_published_before_it_is_written_anew(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=34)
    third = RECORDS // 3
    source = topics("private", partitions=PARTITIONS)
    document = document_with_topics(bootstrap, topics, source) | {"name": source}
    document["sink"]["create"] = True
    document["state"]["directory"] = str(tmp_path / "state")
    changed = document | {"version": 2, "sink": document["sink"] | {"key": "pseudonym"}}
    old, new = write_pipeline(tmp_path, document), write_pipeline(tmp_path / "new", changed)
    state, backup = tmp_path / "state", tmp_path / "backup"
    migrate = ("migrate", old, new)

    def said(*command: str | Path) -> str:
        return " ".join(refused(*command).split())

    with paced_feed(bootstrap, document, private) as feed:
        feed.feed(third)
        run_until(old, feed, third)
        copytree(state, backup)
        feed.feed(third)
        run_until(old, feed, 2 * third)
        rmtree(state)
        copytree(backup, state)
        assert "was taken over" in said(*migrate)
        assert "was taken over" in refusal(old)
        fugu("state", "claim", old)
        sharded = document | {"state": document["state"] | {"shards": 2}}
        shards = write_pipeline(tmp_path / "shards", sharded)
        before = published(bootstrap, document)
        for command in (migrate, ("state", "repartition", shards), ("redrive", old)):
            assert OLDER in said(*command)
        assert published(bootstrap, document) == before
        feed.feed(third)
        run_until(old, feed, RECORDS)
    assert "goes on under" in fugu(*migrate)
    check_one_outcome_each(private, *published(bootstrap, document))


@pytest.mark.acceptance
def test_what_another_law_has_published_since_shows_an_older_copy_without_any_claims(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """A migration is regretted: its releases have other names, and have to count all the same."""
    private, few = stream(60, seed=35), 20
    source = topics("private", partitions=PARTITIONS)
    document = document_with_topics(bootstrap, topics, source) | {"name": source}
    document["state"]["directory"] = str(tmp_path / "state")
    files = [
        write_pipeline(tmp_path / str(version), document | {"version": version})
        for version in (1, 2, 3)
    ]
    state, backup = tmp_path / "state", tmp_path / "backup"
    with paced_feed(bootstrap, document, private) as feed:
        feed.feed(few)
        run_until(files[0], feed, few)
        copytree(state, backup)
        fugu("migrate", files[0], files[1])
        feed.feed(few)
        run_until(files[1], feed, 2 * few)
        rmtree(state)
        copytree(backup, state)
        before = published(bootstrap, document)
        for command in (("migrate", files[0], files[2]), ("redrive", files[0])):
            said = " ".join(refused(*command).split())
            assert OLDER in said
            assert "Where the start says release_mismatch" in said
        feed.feed(few)
        with running(files[0]) as process:
            assert process.exit_code() != 0
            assert "release_mismatch" in process.stderr
        sanitized, _ = published(bootstrap, document)
        assert sanitized == before[0]


def release(name: bytes, value: bytes = b"1") -> Placed:
    return Placed(0, Record(b"ada", value, (("fugu-release", name),)))


def test_only_copies_of_earlier_releases_may_stand_behind_a_stop(
    bootstrap: str, topics: TopicFactory
) -> None:
    sink, client = topics("sanitized"), connected(bootstrap)
    produce(bootstrap, sink, [release(b"a"), release(b"b"), release(b"c"), release(b"a")])
    require_nothing_behind(client, "p", sink, 0, 3)
    produce(bootstrap, sink, [Placed(0, Record(b"alien", b"was not written by Fugu"))])
    require_nothing_behind(client, "p", sink, 0, 3)
    with pytest.raises(StartRefused, match=rf"offset 2 is a release from after.*{OLDER}"):
        require_nothing_behind(client, "p", sink, 0, 2)
    produce(bootstrap, sink, [release(b"a", b"released anew")])
    with pytest.raises(StartRefused, match="offset 5 is a release from after"):
        require_nothing_behind(client, "p", sink, 0, 3)


def test_what_retention_or_a_broker_lost_behind_a_stop_may_have_been_releases(
    bootstrap: str, topics: TopicFactory
) -> None:
    sink, client = topics("sanitized"), connected(bootstrap)
    produce(bootstrap, sink, [release(b"%d" % number) for number in range(6)])
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        admin.delete_records({TopicPartition(sink, 0): 6})
    require_nothing_behind(client, "p", sink, 0, 6)
    for stop in (3, 5, 7):
        with pytest.raises(StartRefused, match=r"holds offsets 6 to 6.*another copy of this state"):
            require_nothing_behind(client, "p", sink, 0, stop)


def test_the_end_of_the_last_transaction_may_be_gone_with_its_releases(
    bootstrap: str, topics: TopicFactory
) -> None:
    sink = topics("sanitized")
    with transactional_producer(bootstrap) as producer:
        transaction(producer, sink, [b"1", b"2"], commit=True)
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        while end_offsets(consumer, sink) != [3]:  # the mark is written after the commit returns
            time.sleep(0.05)
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        admin.delete_records({TopicPartition(sink, 0): 3})
    in_transactions = Connection(bootstrap, client="librdkafka", transactions=True)
    require_nothing_behind(client_of(in_transactions), "p", sink, 0, 2)
    for connection, stop in ((in_transactions, 1), (Connection(bootstrap), 2)):
        with pytest.raises(StartRefused, match="holds offsets 3 to 3"):
            require_nothing_behind(client_of(connection), "p", sink, 0, stop)
