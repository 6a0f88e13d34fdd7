"""Copies that share a pipeline are killed at exact points, and what counts is that of one run."""

import signal
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.copies import committed, copied_document, on_disk, undisturbed
from tests.faults.feeding import PARTITIONS, paced_feed, stream
from tests.faults.outcomes import Topic, check_one_outcome_each, published
from tests.kafka.pipelines import (
    PATIENCE_SECONDS,
    Document,
    RunningPipeline,
    running,
    write_pipeline,
)
from tests.kafka.records import read_topic
from tests.kafka.topics import TopicFactory

RECORDS = 6_000
PART = 1_000
POINTS = {"a cut written, no positions": 3, "positions sent, no commit": 3, "in a restore": 1}
"""Points of `killed_inside`, and at which of their occurrences."""


def require_no_second_draw(bootstrap: str, document: Document, sanitized: Topic) -> None:
    """Readers who do not wait for commits see releases twice, but never two draws of one truth."""
    seen = read_topic(bootstrap, document["sink"]["topic"], "read_uncommitted")
    for partition, records in seen.items():
        assert set(records) == set(sanitized[partition])
    aborted = sum(map(len, seen.values())) - sum(map(len, sanitized.values()))
    assert aborted > 0


@pytest.mark.slow
def test_copies_killed_within_a_cut_and_a_restore_leave_what_one_run_leaves(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=26)
    source = topics("private", partitions=PARTITIONS)
    document = copied_document(bootstrap, topics, source, partitions=PARTITIONS)
    pipeline = write_pipeline(tmp_path / "copies", document)
    with ExitStack() as stack:
        feed = stack.enter_context(paced_feed(bootstrap, document, private))
        feed.feed(PART)
        doomed = [
            stack.enter_context(running(pipeline, killed=(point, occurrence)))
            for point, occurrence in POINTS.items()
        ]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while any(one.process.poll() is None for one in doomed):
            assert time.monotonic() < deadline, [one.stderr for one in doomed]
            if feed.fed - feed.published() < PART:
                feed.feed(PART // 20)
            time.sleep(0.1)
        assert [one.exit_code() for one in doomed] == [-signal.SIGKILL] * len(POINTS)
        copies = [stack.enter_context(running(pipeline)) for _ in range(2)]
        feed.feed(RECORDS)
        copies[0].wait_until(lambda: committed(bootstrap, document) == RECORDS)
        for copy in copies:
            assert copy.stop() == 0, copy.stderr
    sanitized, dead_letters = published(bootstrap, document)
    check_one_outcome_each(private, sanitized, dead_letters)
    require_no_second_draw(bootstrap, document, sanitized)
    alone = undisturbed(bootstrap, on_disk(document, topics), private, tmp_path / "alone")
    assert (sanitized, dead_letters) == alone


@pytest.mark.acceptance
@pytest.mark.parametrize("asked", [False, True])
def test_a_copy_that_stood_still_past_its_session_publishes_nothing_of_what_it_held(
    asked: bool, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """It begins again. Where it was asked to stop meanwhile, that is no failure: it hears from the
    group that others go on."""
    private = stream(RECORDS, seed=28)
    source = topics("private", partitions=PARTITIONS)
    document = copied_document(bootstrap, topics, source, partitions=PARTITIONS)
    pipeline = write_pipeline(tmp_path, document)
    with paced_feed(bootstrap, document, private) as feed, running(pipeline) as sleeper:
        sleeper.wait_until_started()
        feed.feed(PART)
        sleeper.wait_until(lambda: committed(bootstrap, document) == PART)
        feed.feed(PART)
        time.sleep(0.1)
        sleeper.process.send_signal(signal.SIGSTOP)
        with running(pipeline) as awake:
            awake.wait_until(lambda: committed(bootstrap, document) == 2 * PART)
            assert "taken over" in awake.stderr
            feed.feed(PART)
            awake.wait_until(lambda: committed(bootstrap, document) == 3 * PART)
            if asked:
                sleeper.process.terminate()
            sleeper.process.send_signal(signal.SIGCONT)
            feed.feed(RECORDS)
            awake.wait_until(lambda: committed(bootstrap, document) == RECORDS)
            awake.wait_until(lambda: is_back(sleeper), seconds=40)
            if asked:
                assert sleeper.exit_code() == 0, sleeper.stderr
                assert "A stop was requested" in sleeper.stderr
            assert awake.stop() == 0, awake.stderr
    sanitized, dead_letters = published(bootstrap, document)
    check_one_outcome_each(private, sanitized, dead_letters)
    seen = read_topic(bootstrap, document["sink"]["topic"], "read_uncommitted")
    assert {p: set(records) for p, records in seen.items()} == {
        p: set(records) for p, records in sanitized.items()
    }


def is_back(sleeper: RunningPipeline) -> bool:
    """Whether it has begun again, or ended: with 1 a supervisor starts it again."""
    return "Beginning again" in sleeper.stderr or sleeper.process.poll() in (0, 1)
