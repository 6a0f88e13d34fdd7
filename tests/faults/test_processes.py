"""`fugu run --processes N`: children and supervisors are killed, N changes, nothing shows."""

import os
import re
import signal
import time
from pathlib import Path

import pytest

from tests.faults.feeding import PARTITIONS, PacedFeed, document_with_topics, paced_feed, stream
from tests.faults.outcomes import check_one_outcome_each, published
from tests.kafka.pages import Pages
from tests.kafka.pipelines import RunningPipeline, check_refusal, running, write_pipeline
from tests.kafka.ports import free_ports
from tests.kafka.topics import TopicFactory

STAGES = 5
PER_STAGE = 2_000
RECORDS = STAGES * PER_STAGE
RECOGNISED = re.compile(r"recognised (\d+) releases published before the restart")


def test_killed_and_dealt_out_again_it_publishes_what_one_process_would(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=31)
    source = topics("private", partitions=PARTITIONS)
    dealt, whole = (document_with_topics(bootstrap, topics, source) for _ in range(2))
    dealt["state"]["shards"] = PARTITIONS
    dealt["metrics"] = {"port": free_ports(1)}
    here = write_pipeline(tmp_path / "dealt", dealt)
    there = write_pipeline(tmp_path / "whole", whole)

    with paced_feed(bootstrap, dealt, private) as feed:
        killed_and_dealt_out(here, feed, Pages(dealt["metrics"]["port"]))
    with paced_feed(bootstrap, whole, private, fed=RECORDS) as watch, running(there) as alone:
        alone.wait_until(lambda: watch.published() >= RECORDS)
        assert alone.stop() == 0, alone.stderr

    outcome = published(bootstrap, dealt)
    assert outcome == published(bootstrap, whole)
    check_one_outcome_each(private, *outcome)


def killed_and_dealt_out(pipeline: Path, feed: PacedFeed, pages: Pages) -> None:
    """Two processes of which one is killed; killed supervisors; then three, then one."""
    with running(pipeline, "--processes", "2") as two:
        two.wait_until(lambda: "process 1 runs partitions 1, 3" in two.stderr)
        two.wait_until(pages.is_healthy)
        two.wait_until(lambda: feed.advance() >= PER_STAGE)
        os.kill(children(two)[1], signal.SIGKILL)
        two.wait_until(lambda: "ended by itself (signal 9)" in two.stderr)
        two.wait_until(lambda: feed.advance() >= 2 * PER_STAGE)
        two.wait_until(pages.is_healthy)
        assert pages.sums("fugu_process_restarts_total") == {"": 1}
        assert set(pages.sums("fugu_streams", "partition")) == set("0123")
        orphans = children(two)
        two.kill()
    with running(pipeline, "--processes", "3") as three:
        three.wait_until(lambda: feed.advance() >= 3 * PER_STAGE)
        assert three.stop(signal.SIGINT) == 0, three.stderr
        assert three.stderr.endswith("all processes have stopped\n")
    assert not [pid for pid in orphans if Path(f"/proc/{pid}").exists()]
    assert sum(map(int, RECOGNISED.findall(two.stderr + three.stderr))) > 0
    with running(pipeline, "--processes", "1") as one:
        one.wait_until(lambda: feed.advance() >= RECORDS)
        assert one.stop() == 0, one.stderr
        assert "recognised" not in one.stderr


def children(supervisor: RunningPipeline) -> list[int]:
    """Process ids of those that run, by number."""
    started = re.findall(
        r"process (\d) \(shards? [0-9, ]+\): started, process id (\d+)", supervisor.stderr
    )
    return [pid for _, pid in sorted({int(number): int(pid) for number, pid in started}.items())]
