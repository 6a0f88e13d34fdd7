"""Killed again and again, a pipeline publishes exactly what it would have published in peace."""

import re
from pathlib import Path
from random import Random

from tests.faults.feeding import PARTITIONS, PacedFeed, document_with_topics, paced_feed, stream
from tests.kafka.pipelines import Document, RunningPipeline, running, write_pipeline
from tests.kafka.records import Record, read_topic
from tests.kafka.topics import TopicFactory

RECORDS = 50_000
SEED = 2024
KILLS = 5
RECOGNISED = re.compile(r"recognised (\d+) releases published before the restart")


def test_five_kills_and_a_stop_leave_no_trace_in_the_output(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=SEED)
    source = topics("private", partitions=PARTITIONS)
    disturbed = document_with_topics(bootstrap, topics, source)
    undisturbed = document_with_topics(bootstrap, topics, source)

    with paced_feed(bootstrap, disturbed, private) as feed:
        logs = run_disturbed(write_pipeline(tmp_path / "disturbed", disturbed), feed)
    with paced_feed(bootstrap, undisturbed, private) as watch:
        run_to_the_end(write_pipeline(tmp_path / "undisturbed", undisturbed), watch)

    sanitized, dead_letters = published(bootstrap, disturbed)
    assert (sanitized, dead_letters) == published(bootstrap, undisturbed)
    for partition in range(PARTITIONS):
        accepted = private.accepted(partition)
        assert [(r.key, r.timestamp) for r in sanitized[partition]] == [
            (r.key, r.timestamp) for r in accepted
        ]
        assert len(dead_letters[partition]) == private.refused(partition)

    recognised = [sum(map(int, RECOGNISED.findall(log))) for log in logs]
    hits = sum(count > 0 for count in recognised)
    assert hits >= 1, "a kill hit between the publication of releases and their snapshot"


def run_disturbed(pipeline: Path, feed: PacedFeed) -> list[str]:
    """Kill at seeded points of the output, stop gracefully once; returns what each run said."""
    random = Random(SEED)
    steps = KILLS + 1
    width = RECORDS // (steps + 1)
    targets = [
        width * (step + 1) + random.randrange(-width // 3, width // 3) for step in range(steps)
    ]
    graceful = random.randrange(1, steps)
    logs = []
    for step, target in enumerate(targets):
        with running(pipeline) as process:
            process.wait_until(lambda target=target: feed.advance() >= target)  # type: ignore[misc]
            assert feed.fed > feed.published(), "killed in mid stream"
            if step == graceful:
                assert process.stop() == 0, process.stderr
            else:
                process.kill()
            logs.append(process.stderr)
    with running(pipeline) as process:
        process.wait_until(lambda: feed.advance() >= RECORDS)
        assert process.stop() == 0, process.stderr
        logs.append(process.stderr)
    assert "recognised" not in logs[graceful + 1], (
        "after a graceful stop there is nothing to repeat"
    )
    return logs


def run_to_the_end(pipeline: Path, watch: PacedFeed) -> None:
    """Run over a source that holds everything already."""
    with running(pipeline) as process:
        process.wait_until(lambda: watch.done)
        assert process.stop() == 0, process.stderr


Topic = dict[int, list[Record]]


def published(bootstrap: str, document: Document) -> tuple[Topic, Topic]:
    """Both sinks, whole."""
    sink = document["sink"]
    return read_topic(bootstrap, sink["topic"]), read_topic(bootstrap, sink["dead_letters"])
