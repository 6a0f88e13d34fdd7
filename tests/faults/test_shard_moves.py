"""Groups of partitions move from process to process while records keep coming."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from tests.faults.feeding import PARTITIONS, PacedFeed, document_with_topics, paced_feed, stream
from tests.faults.outcomes import check_one_outcome_each, published
from tests.kafka.pipelines import RunningPipeline, check_refusal, fugu, running, write_pipeline
from tests.kafka.records import end_offsets
from tests.kafka.topics import TopicFactory

STAGES = 7
PER_STAGE = 1_500
RECORDS = STAGES * PER_STAGE
CHUNK = 50
PROGRESS = 50
"""The releases that every owned partition must take before a stage is over."""
SHARDS = {0: [0, 2], 1: [1, 3]}
RECOGNISED = re.compile(r"recognised (\d+) releases published before the restart")


@dataclass
class Load:
    """Feeds one part of the stream per stage, a little at a time, while others wait."""

    feed: PacedFeed
    stage: int = 0

    def next_stage(self, process: RunningPipeline, *shards: int) -> None:
        """Wait until the partitions of these shards have moved on, under load."""
        self.stage += 1
        before = self.releases()
        own = [partition for shard in shards for partition in SHARDS[shard]]

        def moved_on() -> bool:
            now = self.releases()
            return all(now[partition] - before[partition] >= PROGRESS for partition in own)

        self.wait(process, moved_on)

    def wait(self, process: RunningPipeline, reached: Callable[[], bool]) -> None:
        def feed_and_look() -> bool:
            self.feed.feed(min(CHUNK, self.stage * PER_STAGE - self.feed.fed))
            return reached()

        process.wait_until(feed_and_look)

    def releases(self) -> list[int]:
        """Return how many releases every partition of the sanitized topic has taken."""
        return end_offsets(self.feed.consumer, self.feed.document["sink"]["topic"])

    def outcomes(self, shard: int) -> int:
        """Return how many releases and dead letters the partitions of a shard have taken."""
        dead_letters = end_offsets(self.feed.consumer, self.feed.document["sink"]["dead_letters"])
        releases = self.releases()
        return sum(releases[part] + dead_letters[part] for part in SHARDS[shard])


@pytest.mark.acceptance
def test_shards_move_between_processes_and_leave_no_trace_in_output_and_budgets(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=21)
    source = topics("private", partitions=PARTITIONS)
    moved, whole = (document_with_topics(bootstrap, topics, source) for _ in range(2))
    moved["state"]["shards"] = len(SHARDS)
    here = write_pipeline(tmp_path / "moved", moved)
    there = write_pipeline(tmp_path / "whole", whole)

    with paced_feed(bootstrap, moved, private) as feed:
        move(here, Load(feed))
        feed.feed(RECORDS)
        run_to_the_end(here, feed)
    with paced_feed(bootstrap, whole, private, fed=RECORDS) as watch:
        run_to_the_end(there, watch)

    outcome = published(bootstrap, moved)
    assert outcome == published(bootstrap, whole)
    check_one_outcome_each(private, *outcome)
    assert spent(here) == spent(there)


def move(pipeline: Path, load: Load) -> None:
    """One process, then two, of which one is killed and replaced, then the new one alone."""
    never_saved = pipeline.with_name("never-saved.yaml")
    never_saved.write_text(pipeline.read_text().replace("every: 1s", "every: 60m"))

    with running(pipeline) as both:
        load.next_stage(both, 0, 1)
        assert both.stop() == 0, both.stderr
    saved = load.outcomes(0)

    with running(pipeline, "--shard", "1/2") as odd:
        with running(never_saved, "--shard", "0/2") as even:
            load.next_stage(even, 0, 1)
            with running(pipeline, "--shard", "0/2") as second_owner:
                load.wait(even, lambda: second_owner.process.poll() is not None)
                assert "is in use by another process. Stop it first" in check_refusal(second_owner)
            load.next_stage(even, 0)
            even.kill()
        load.next_stage(odd, 1)
        unsaved = load.outcomes(0) - saved

        with running(pipeline, "--shard", "0/2") as even_again:
            load.next_stage(even_again, 0, 1)
            assert odd.stop() == 0, odd.stderr
            load.next_stage(even_again, 0)
            assert even_again.stop() == 0, even_again.stderr
    assert sum(map(int, RECOGNISED.findall(even_again.stderr))) == unsaved > 0


def run_to_the_end(pipeline: Path, feed: PacedFeed) -> None:
    """One process for all shards, until every record has its outcome."""
    with running(pipeline) as process:
        process.wait_until(lambda: feed.published() >= RECORDS)
        assert process.stop() == 0, process.stderr


def spent(pipeline: Path) -> dict[int, tuple[int, float, float]]:
    """Return how many streams every partition has, and what they spent."""
    shown = orjson.loads(fugu("state", "show", pipeline, "--json"))
    return {
        row["partition"]: (row["streams"], row["mean_spent"], row["largest_spent"]) for row in shown
    }
