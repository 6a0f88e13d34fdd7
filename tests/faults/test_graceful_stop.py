"""SIGINT and SIGTERM end a pipeline with everything written and exit code 0."""

import signal
from pathlib import Path

import pytest

from tests.faults.feeding import PARTITIONS, document_with_topics, paced_feed, stream
from tests.faults.outcomes import check_one_outcome_each, published
from tests.kafka.pipelines import fugu, refused, running, write_pipeline
from tests.kafka.topics import TopicFactory

RECORDS = 6_000
ENDINGS = ("stopped, state is written\n", "the next start goes on from here\n")
"""Last lines of a pipeline that had begun, and of one for which nothing was left to publish."""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
def test_a_stop_in_mid_stream_leaves_nothing_to_repeat(
    how: signal.Signals, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=how)
    source = topics("private", partitions=PARTITIONS)
    document = document_with_topics(bootstrap, topics, source)
    pipeline = write_pipeline(tmp_path, document)
    with paced_feed(bootstrap, document, private) as feed:
        for target in (RECORDS // 2, RECORDS):
            with running(pipeline) as process:
                process.wait_until_started()
                process.wait_until(lambda target=target: feed.advance() >= target)  # type: ignore[misc]
                assert process.stop(how) == 0, process.stderr
                assert process.stderr.endswith(ENDINGS)
                assert "recognised" not in process.stderr
    check_one_outcome_each(private, *published(bootstrap, document))


def test_a_stop_before_the_first_record_is_read_is_graceful_too(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source = topics("private", partitions=PARTITIONS)
    pipeline = write_pipeline(tmp_path, document_with_topics(bootstrap, topics, source))
    with running(pipeline) as process:
        process.wait_until((tmp_path / "state" / "shard-0000" / "lock").exists)
        assert process.stop() == 0, process.stderr
        assert process.stderr.endswith(ENDINGS)
    fugu("state", "export", pipeline, tmp_path / "state.tar.gz")
    assert "are sound" in fugu("state", "verify", pipeline)


def test_a_stop_before_a_replay_is_through_is_not_graceful(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """Another key would meet releases that were drawn with the old one."""
    private = stream(RECORDS, seed=5)
    source = topics("private", partitions=PARTITIONS)
    document = document_with_topics(bootstrap, topics, source)
    document["state"]["every"] = "10m"
    document["source"]["max_batch"] = 10
    pipeline = write_pipeline(tmp_path, document)
    rotation: list[str | Path] = ["state", "rotate", pipeline, "--keys", tmp_path / "keys.json"]
    with paced_feed(bootstrap, document, private) as feed:
        with running(pipeline) as process:
            process.wait_until(lambda: feed.advance() >= RECORDS)
            process.kill()
        with running(pipeline) as process:
            assert process.stop() == 0, process.stderr
            assert "recognised" not in process.stderr
        assert "before it had caught up" in refused(*rotation)
        with running(pipeline) as process:
            process.wait_until(lambda: process.stderr.count("recognised") == 2 * PARTITIONS)
            assert process.stop() == 0, process.stderr
    assert "key epoch 1" in fugu(*rotation)
