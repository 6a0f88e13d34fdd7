"""A state that was lost is rebuilt where topics still hold everything, and refused elsewhere."""

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import orjson
import pytest
from kafka import KafkaAdminClient, TopicPartition

from tests.faults.feeding import PARTITIONS, document_with_topics, paced_feed, stream
from tests.faults.killing import ended_or_killed
from tests.faults.outcomes import check_one_outcome_each, published
from tests.faults.test_redrive import newest_spending
from tests.faults.test_state_moves import run_until
from tests.kafka.pipelines import (
    Document,
    fugu,
    refusal,
    refused,
    running,
    write_pipeline,
)
from tests.kafka.records import Placed, Record, produce
from tests.kafka.topics import TopicFactory
from tests.thinned import first_in_test

RECORDS = 3_000
HALF = RECORDS // 2
FEW_RECORDS = 1_000
REBUILD = ("state", "rebuild")


def with_budget(bootstrap: str, topics: TopicFactory, source: str) -> Document:
    """A pipeline in two shards whose frequent streams come to their end, with a ledger."""
    document = document_with_topics(bootstrap, topics, source)
    document["state"]["shards"] = 2
    document["budget"] = {"total": 5.0}
    document["ledger"] = {"topic": topics("ledger", configs={"cleanup.policy": "compact"})}
    return document


def killed_until_complete(pipeline: Path) -> int:
    """Run the command, killed behind its first rename, its second, until it ends."""
    for occurrence in range(1, 100):
        if ended_or_killed("renamed", occurrence, *REBUILD, pipeline) == 0:
            return occurrence - 1
    raise AssertionError("it never ended")


@contextmanager
def more_in_the_ledger(bootstrap: str, document: Document) -> Iterator[None]:
    """Make the ledger say what it would if the sink had lost a release of one stream."""
    key, value = next(
        (key, value)
        for key, value in newest_spending(bootstrap, document).items()
        if not orjson.loads(value)["exhausted"]
    )
    later = orjson.dumps(orjson.loads(value) | {"tenths": 10, "exhausted": True})
    lost = ("fugu-release", b"of a record that nobody has released")
    for said, headers in ((later, (lost,)), (value, ())):
        produce(bootstrap, document["ledger"]["topic"], [Placed(0, Record(key, said, headers))])
        if said is later:
            yield


def shown(pipeline: Path) -> list[dict[str, object]]:
    """Return what partitions with streams are said to hold, but for the size of their files."""
    rows = orjson.loads(fugu("state", "show", pipeline, "--json"))
    return [
        {name: value for name, value in row.items() if "bytes" not in name}
        for row in rows
        if row["streams"]
    ]


@pytest.mark.parametrize("kill", first_in_test([True, False], 1))
def test_a_lost_state_is_rebuilt_with_its_budgets_and_goes_on_to_the_byte(
    kill: bool, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=31)
    source = topics("private", partitions=PARTITIONS)
    lost, whole = (with_budget(bootstrap, topics, source) for _ in range(2))
    pipeline = write_pipeline(tmp_path / "lost", lost)

    with paced_feed(bootstrap, lost, private) as feed:
        run_until(pipeline, feed, HALF, kill=kill)
        state = pipeline.parent / "state"
        before = [] if kill else shown(pipeline)
        shutil.rmtree(state)
        assert "fugu state rebuild makes it again" in refusal(pipeline)
        if kill:
            assert killed_until_complete(pipeline) > 1
        else:
            with more_in_the_ledger(bootstrap, lost):
                said = refused(*REBUILD, pipeline)
                assert "has spent more than its releases in the sink cost" in " ".join(said.split())
            assert "each of which is what is published" in fugu(*REBUILD, pipeline)
            assert shown(pipeline) == before
        assert "holds a state already" in refused(*REBUILD, pipeline)
        run_until(pipeline, feed, RECORDS)
    unbroken = write_pipeline(tmp_path / "whole", whole)
    with paced_feed(bootstrap, whole, private, fed=RECORDS) as watch:
        run_until(unbroken, watch, RECORDS)

    assert published(bootstrap, lost) == published(bootstrap, whole)
    check_one_outcome_each(private, *published(bootstrap, lost))
    assert shown(pipeline) == shown(unbroken)
    assert newest_spending(bootstrap, lost) == newest_spending(bootstrap, whole) != {}


def test_whatever_may_have_spent_more_than_is_seen_is_refused_and_nothing_is_published(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(FEW_RECORDS, seed=32)
    source = topics("private", partitions=PARTITIONS)
    document = document_with_topics(bootstrap, topics, source) | {"name": source}
    document["sink"]["create"] = True
    with paced_feed(bootstrap, document, private) as feed:
        run_until(write_pipeline(tmp_path, document), feed, FEW_RECORDS)
    shutil.rmtree(tmp_path / "state")
    before = published(bootstrap, document)

    def said(**changed: object) -> str:
        path = write_pipeline(tmp_path, document | changed)
        return " ".join(refused(*REBUILD, path).split())

    other = "what the source makes now is another release"
    assert other in said(operator=document["operator"] | {"epsilon": 2.0})
    assert other in said(name="renamed")
    elsewhere = document["sink"] | {"topic": topics("elsewhere", partitions=PARTITIONS)}
    assert "has released into another topic than sink.topic" in said(sink=elsewhere)
    assert "has released into another topic" not in said(sink=elsewhere, name="renamed")
    assert "holds no release, but topic" in said(sink=elsewhere, name="renamed")
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        admin.delete_records({TopicPartition(source, 1): 5})
    assert f"topic {source}, partition 1 begins at offset 5" in said()
    assert published(bootstrap, document) == before
    assert not [
        path for path in (tmp_path / "state").rglob("*") if path.is_file() and path.name != "lock"
    ]


def test_a_process_that_still_runs_stops_when_its_state_is_rebuilt_elsewhere(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=33)
    source = topics("private", partitions=PARTITIONS)
    document = document_with_topics(bootstrap, topics, source) | {"name": source}
    document["sink"]["create"] = True
    here = write_pipeline(tmp_path / "here", document)
    there = write_pipeline(tmp_path / "there", document)
    with paced_feed(bootstrap, document, private) as feed, running(here) as process:
        process.wait_until(lambda: feed.advance() >= HALF)
        fugu(*REBUILD, there)
        feed.feed(RECORDS)
        assert process.exit_code() == 78
        assert "has taken over pipeline" in process.stderr
        run_until(there, feed, RECORDS)
    check_one_outcome_each(private, *published(bootstrap, document))
