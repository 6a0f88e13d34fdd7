"""Killed again and again, a pipeline publishes exactly what it would have published in peace."""

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.faults.feeding import PARTITIONS, PacedFeed, document_with_topics, paced_feed, stream
from tests.faults.outcomes import check_one_outcome_each, published
from tests.kafka.pipelines import RunningPipeline, running, write_pipeline
from tests.kafka.topics import TopicFactory

RECORDS = 50_000
SEED = 2024
KILLS = 5
LEAST = 1_000
"""Every run publishes at least so much before it is ended."""
RECOGNISED = re.compile(r"recognised (\d+) releases published before the restart")


def test_five_kills_and_a_stop_leave_no_trace_in_the_output(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=SEED)
    source = topics("private", partitions=PARTITIONS)
    disturbed = document_with_topics(bootstrap, topics, source)
    undisturbed = document_with_topics(bootstrap, topics, source)

    with paced_feed(bootstrap, disturbed, private) as feed:
        recognised = run_disturbed(write_pipeline(tmp_path / "disturbed", disturbed), feed)
    with paced_feed(bootstrap, undisturbed, private, fed=RECORDS) as watch:
        run_until(write_pipeline(tmp_path / "undisturbed", undisturbed), watch, RECORDS, stop)

    outcome = published(bootstrap, disturbed)
    assert outcome == published(bootstrap, undisturbed)
    check_one_outcome_each(private, *outcome)
    assert max(recognised) > 0, "some kill hit between the publication and the snapshot of releases"


def run_disturbed(pipeline: Path, feed: PacedFeed) -> list[int]:
    """Kill at seeded points of the output, once stop gracefully instead; then run to the end.

    Returns how many releases of its predecessor each run recognised.
    """
    random = Random(SEED)
    ends = [kill] * KILLS + [stop]
    random.shuffle(ends)
    part = RECORDS / (len(ends) + 1)
    targets = [
        int(part * (number + random.uniform(0.7, 1.3))) for number in range(1, len(ends) + 1)
    ]
    recognised = [
        run_until(pipeline, feed, target, end) for target, end in zip(targets, ends, strict=True)
    ]
    recognised.append(run_until(pipeline, feed, RECORDS, stop))
    assert recognised[ends.index(stop) + 1] == 0, "a graceful stop leaves nothing to repeat"
    return recognised


def run_until(
    pipeline: Path, feed: PacedFeed, target: int, end: Callable[[RunningPipeline], None]
) -> int:
    """Run until so much is published, then end; returns how many releases were recognised."""
    with running(pipeline) as process:
        process.wait_until_started()
        target = max(target, min(feed.published() + LEAST, len(feed.stream.placed)))
        process.wait_until(lambda: feed.advance() >= target)
        end(process)
        return sum(map(int, RECOGNISED.findall(process.stderr)))


def kill(process: RunningPipeline) -> None:
    process.kill()


def stop(process: RunningPipeline) -> None:
    assert process.stop() == 0, process.stderr
