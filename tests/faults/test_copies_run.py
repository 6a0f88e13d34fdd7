"""Copies run as users run them: several on a machine, inside bytewax, and to finish streams."""

import os
import sys
from pathlib import Path

import pytest

from tests.faults.copies import committed, copied_document, named
from tests.faults.feeding import PARTITIONS, paced_feed, stream
from tests.faults.outcomes import check_one_outcome_each, published
from tests.kafka.pipelines import fugu, running, write_pipeline
from tests.kafka.topics import TopicFactory

RECORDS = 2_000
BYTEWAX = [sys.executable, "-m", "tests.faults.bytewax_run"]


@pytest.mark.slow
def test_two_copies_under_one_supervisor_then_workers_of_bytewax_share_one_pipeline(
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
        with running(pipeline, "-w", "2", command=BYTEWAX) as workers:
            feed.feed(RECORDS)
            workers.wait_until(lambda: committed(bootstrap, document) == RECORDS)
            workers.kill()
    check_one_outcome_each(private, *published(bootstrap, document))
    assert not [name for name in os.listdir(tmp_path) if "state" in name or "refused" in name]
