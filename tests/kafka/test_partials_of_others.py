"""Partial sums that nobody knows the limits of are never merged."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest
from kafka import KafkaConsumer

from fugu.dataflows.stages.log_entries import MOVED_KEY, PartialSums, PartitionsMoved, partition_key
from tests.faults.copies import in_kafka
from tests.kafka.foretold import refusal_foretold
from tests.kafka.pipelines import Document, pipeline_document, running, write_pipeline
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce, read_topic
from tests.kafka.topics import TopicFactory

GROUPS = ["north", "south"]
SECOND = 1_000
FIRST = NOW // SECOND
MADE_UP = 1_000_000


def document_of(bootstrap: str, topics: TopicFactory) -> Document:
    document = pipeline_document(bootstrap, topics("trips", partitions=2), topics("counts"))
    document["source"] |= {"value": "zone", "timestamp": {"field": "at", "format": "epoch-ms"}}
    document["operator"] = {
        "kind": "uniform",
        "epsilon": 20.0,
        "window": 1,
        "groups": GROUPS,
        "ticks": {"width": "1s", "stream_time": {"distinct_keys": 1}},
    }
    document["sink"]["partials"] = topics("partials")
    return document


def test_a_log_that_holds_partial_sums_already_is_refused_without_their_state(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document = document_of(bootstrap, topics)
    produce(bootstrap, document["sink"]["partials"], [Placed(0, Record(b"1", b"another's sums"))])
    pipeline = write_pipeline(tmp_path, document)
    for _ in range(2):
        assert "already holds partial sums" in refusal_foretold(pipeline)


def test_entries_that_something_else_writes_to_the_log_do_not_count_and_stop_nothing(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """Neither while the pipeline runs, nor where a kill makes it look for its own entries."""
    document = document_of(bootstrap, topics)
    pipeline, sink = write_pipeline(tmp_path, document), document["sink"]
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as ends:
        for first in (0, 6):
            with running(pipeline) as run:
                run.wait_until_started()
                produce(bootstrap, sink["partials"], forged(range(first, first + 6)))
                produce(bootstrap, document["source"]["topic"], trips(range(first, first + 6)))
                enough = len(GROUPS) * (first + 5)
                run.wait_until(lambda: sum(end_offsets(ends, sink["topic"])) >= enough)  # noqa: B023
                assert "something else writes to sink.partials" in run.stderr
                if first:
                    assert run.stop() == 0, run.stderr
                else:
                    run.kill()
    figures = [orjson.loads(one.value or b"") for one in read_topic(bootstrap, sink["topic"])[0]]
    assert [one["start"] for one in figures[::2]] == [(FIRST + n) * SECOND for n in range(11)]
    assert all(abs(one["value"] - 2) < 20 for one in figures)


@pytest.mark.parametrize("store", ["disk", "kafka"])
def test_copies_of_own_entries_do_not_count_and_stop_no_start(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, store: str
) -> None:
    """A stranger writes them in another order and at other times, while the pipeline is dead."""
    document = document_of(bootstrap, topics)
    if store == "kafka":
        document = in_kafka(document | {"name": f"copied-{document['sink']['topic']}"})
    pipeline, sink = write_pipeline(tmp_path, document), document["sink"]
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as ends:
        for first in (0, 6, 12):
            with running(pipeline) as run:
                run.wait_until_started()
                produce(bootstrap, document["source"]["topic"], trips(range(first, first + 6)))
                enough = len(GROUPS) * (first + 5)
                run.wait_until(lambda: figures_of(ends, bootstrap, sink["topic"]) >= enough)  # noqa: B023
                if first:
                    assert "count" in run.stderr
                    assert "sink.partials" in run.stderr
                run.kill()
            write_copies(bootstrap, sink["partials"])
    figures = [orjson.loads(one.value or b"") for one in read_topic(bootstrap, sink["topic"])[0]]
    starts = [one["start"] for one in figures[::2]]
    assert starts == [(FIRST + n) * SECOND for n in range(len(starts))]
    assert len(starts) >= 17
    assert all(abs(one["value"] - 2) < 20 for one in figures)


def figures_of(ends: KafkaConsumer, bootstrap: str, topic: str) -> int:
    """How many figures count; the end of a topic counts marks of transactions, too."""
    there = sum(end_offsets(ends, topic))
    return len(read_topic(bootstrap, topic)[0]) if there else 0


def write_copies(bootstrap: str, log: str) -> None:
    entries = [one for one in read_topic(bootstrap, log)[0] if one.headers]
    later = [replace(one, timestamp=one.timestamp + 1) for one in entries]
    bare = [replace(one, headers=()) for one in entries]
    copies = [*reversed(entries), *entries, *bare, *reversed(later), *later]
    produce(bootstrap, log, [Placed(0, one) for one in copies])


def forged(ticks: range) -> list[Placed]:
    """What another pipeline writes at each tick, and what nobody does."""
    sums = [
        (partition_key(partition), PartialSums(partition, FIRST + tick, *counts).encoded())
        for tick in ticks
        for partition in (0, 1, 7)
        for counts in [(np.arange(2), np.full(2, MADE_UP))]
    ]
    moved = MOVED_KEY, PartitionsMoved(1, None).encoded()
    headers = (("fugu-release", b"0" * 32), ("fugu-seal", b"0" * 32))
    return [
        Placed(0, Record(key, value, said))
        for said in ((), headers[:1], headers)
        for key, value in [*sums, moved, (b"0", b"rubbish")]
    ]


def trips(ticks: range) -> list[Placed]:
    """One user of each partition is in each group, once a second."""
    return [
        Placed(
            user % 2,
            Record(
                b"user-%d" % user,
                orjson.dumps({"zone": GROUPS[user // 2], "at": (FIRST + tick) * SECOND}),
            ),
        )
        for tick in ticks
        for user in range(4)
    ]
