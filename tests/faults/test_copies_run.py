"""Copies run as users run them: several on a machine, inside bytewax, and to finish streams."""

import os
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from kafka import KafkaAdminClient

from tests.faults.copies import committed, copied_document, named
from tests.faults.feeding import PARTITIONS, paced_feed, stream
from tests.faults.outcomes import check_one_outcome_each, published
from tests.kafka.pipelines import Document, fugu, running, write_pipeline
from tests.kafka.ports import HOST, free_ports
from tests.kafka.topics import TopicFactory

RECORDS = 2_000
BYTEWAX = [sys.executable, "-m", "tests.faults.bytewax_run"]


def members(bootstrap: str, document: Document) -> int:
    """Return how many members the consumer group of a pipeline has."""
    group = f"fugu.{document['name']}"
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        return len(admin.describe_groups([group])[group]["members"])


@pytest.mark.acceptance
def test_two_copies_under_one_supervisor_then_a_cluster_of_bytewax_share_one_pipeline(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=27)
    source = topics("private", partitions=PARTITIONS)
    document = copied_document(bootstrap, topics, source, partitions=PARTITIONS)
    pipeline = write_pipeline(tmp_path, document)
    checked = fugu("validate", pipeline, "--kafka", "--processes", "2")
    assert "begins a state in topic" in " ".join(checked.split())
    with paced_feed(bootstrap, document, private) as feed:
        with named("here"), running(pipeline, "--processes", "2") as both:
            both.wait_until(lambda: "copy here-0" in both.stderr and "copy here-1" in both.stderr)
            feed.feed(RECORDS // 2)
            both.wait_until(lambda: committed(bootstrap, document) == RECORDS // 2)
            assert both.stop() == 0, both.stderr
        port = free_ports(2)
        addresses = f"{HOST}:{port};{HOST}:{port + 1}"
        with ExitStack() as cluster:
            one, other = (
                cluster.enter_context(
                    running(pipeline, "-i", str(number), "-a", addresses, command=BYTEWAX)
                )
                for number in range(2)
            )
            feed.feed(RECORDS)
            one.wait_until(lambda: committed(bootstrap, document) == RECORDS)
            assert members(bootstrap, document) == 2, "each process is a copy of its own"
            other.kill()
    check_one_outcome_each(private, *published(bootstrap, document))
    assert not [name for name in os.listdir(tmp_path) if "state" in name or "refused" in name]
