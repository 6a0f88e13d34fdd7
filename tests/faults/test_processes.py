"""`fugu run --processes N`: children and supervisors are killed, N changes, nothing shows."""

import os
import re
import signal
from pathlib import Path

import orjson

from fugu.dataflows.base.errors import NO_RESTART_HELPS
from tests.faults.feeding import PARTITIONS, PacedFeed, document_with_topics, paced_feed, stream
from tests.faults.outcomes import check_one_outcome_each, published
from tests.faults.supervised import process_ids
from tests.kafka.pages import Pages
from tests.kafka.pipelines import check_refusal, pipeline_document, running, write_pipeline
from tests.kafka.ports import free_ports
from tests.kafka.topics import TopicFactory

STAGES = 3
PER_STAGE = 1_500
RECORDS = STAGES * PER_STAGE
CHUNK = 100
ALL = set(map(str, range(PARTITIONS)))
RECOGNISED = re.compile(r"recognised (\d+) releases published before the restart")


def test_killed_and_dealt_out_again_it_publishes_what_one_process_would(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=31)
    source = topics("private", partitions=PARTITIONS)
    dealt, whole = (document_with_topics(bootstrap, topics, source) for _ in range(2))
    dealt["state"] |= {"shards": PARTITIONS, "every": "10m"}
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
    """Two processes of which one is killed; then their supervisor is; then three processes."""
    with running(pipeline, "--processes", "2") as two:
        two.wait_until(lambda: "process 1 runs partitions 1, 3" in two.stderr)
        two.wait_until(pages.is_healthy)
        two.wait_until(lambda: moved_on(feed, 1))
        os.kill(process_ids(two)[1], signal.SIGKILL)
        two.wait_until(lambda: "ended by itself (signal 9)" in two.stderr)
        two.wait_until(lambda: moved_on(feed, 2))
        two.wait_until(pages.is_healthy)
        assert pages.sums("fugu_process_restarts_total") == {"": 1}
        two.wait_until(lambda: set(pages.sums("fugu_records_in_total", "partition")) == ALL)
        orphans = process_ids(two)
        two.kill()
    with running(pipeline, "--processes", "3") as three:
        three.wait_until(lambda: moved_on(feed, STAGES) and feed.published() >= RECORDS)
        assert three.stop(signal.SIGINT) == 0, three.stderr
        assert three.stderr.endswith("all processes have stopped\n")
    assert not [pid for pid in orphans if Path(f"/proc/{pid}").exists()]
    assert sum(map(int, RECOGNISED.findall(two.stderr))) > 0


def moved_on(feed: PacedFeed, stage: int) -> bool:
    """Feed a little; whether so much is published that all processes must have done their part."""
    feed.feed(min(CHUNK, stage * PER_STAGE - feed.fed))
    return feed.published() >= (stage - 0.1) * PER_STAGE


def test_where_no_restart_helps_all_stop_and_the_reason_is_shown(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source = topics("private", partitions=PARTITIONS)
    document = document_with_topics(bootstrap, topics, source) | {"logs": "json"}
    document["state"]["shards"] = 2
    pipeline = write_pipeline(tmp_path, document)
    states = [tmp_path / "state" / f"shard-{n:04d}" / "fingerprint.json" for n in range(2)]
    with running(pipeline, "--processes", "2") as process:
        process.wait_until(lambda: all(state.exists() for state in states))
        assert process.stop() == 0, process.stderr
    states[1].write_text("{")
    with running(pipeline, "--processes", "2") as process:
        assert process.exit_code() == NO_RESTART_HELPS, process.stderr
    lines = [orjson.loads(line) for line in process.stderr.splitlines()]
    [reason] = [line for line in lines if "fingerprint.json is damaged" in line["message"]]
    assert reason["process"] == 1
    assert "no restart would help process 1 (shard 1)" in lines[-1]["message"]


def test_shards_cannot_be_chosen_for_several_processes(bootstrap: str, tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path, pipeline_document(bootstrap, "source", "sink"))
    with running(pipeline, "--processes", "1", "--shard", "0/1") as process:
        assert "leave --shard and --finish out" in check_refusal(process)
        assert process.exit_code() == NO_RESTART_HELPS
