"""A state that was moved to another directory, or given the next key, goes on where it was."""

import shutil
from pathlib import Path

import orjson

from tests.faults.feeding import PARTITIONS, PacedFeed, document_with_topics, paced_feed, stream
from tests.faults.killing import killed_inside
from tests.faults.outcomes import published
from tests.kafka.pipelines import SECRET_VARIABLE, fugu, refusal, running, write_pipeline
from tests.kafka.records import read_topic
from tests.kafka.topics import TopicFactory

RECORDS = 6_000
HALF = RECORDS // 2


def run_until(pipeline: Path, feed: PacedFeed, target: int, *, kill: bool = False) -> str:
    """Run until so much is published, then stop or kill; returns what the pipeline said."""
    with running(pipeline) as process:
        process.wait_until(lambda: feed.advance() >= target)
        if kill:
            process.kill()
        else:
            assert process.stop() == 0, process.stderr
        return process.stderr


def test_a_sharded_state_that_was_exported_and_imported_continues_to_the_byte(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=11)
    source = topics("private", partitions=PARTITIONS)
    moved, whole = (document_with_topics(bootstrap, topics, source) for _ in range(2))
    moved["state"]["shards"] = 2
    archive = tmp_path / "state.tar.gz"
    here = write_pipeline(tmp_path / "here", moved)
    there = write_pipeline(tmp_path / "there", moved)

    with paced_feed(bootstrap, moved, private) as feed:
        run_until(here, feed, HALF)
        fugu("state", "export", here, archive)
        shutil.rmtree(here.parent / "state")
        assert "are sound" in fugu("state", "import", there, archive)
        run_until(there, feed, RECORDS)
    with paced_feed(bootstrap, whole, private, fed=RECORDS) as watch:
        run_until(write_pipeline(tmp_path / "whole", whole), watch, RECORDS)

    assert published(bootstrap, moved) == published(bootstrap, whole)
    spent = [
        sorted(row["largest_spent"] for row in orjson.loads(fugu("state", "show", path, "--json")))
        for path in (there, tmp_path / "whole" / "pipeline.yaml")
    ]
    assert spent[0] == spent[1]


def test_after_a_rotation_with_kills_inside_and_after_it_there_is_no_gap_and_no_duplicate(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=12)
    source = topics("private", partitions=PARTITIONS)
    document = document_with_topics(bootstrap, topics, source)
    document["sink"]["key"] = "pseudonym"
    document["state"]["shards"] = 2
    old = write_pipeline(tmp_path, document)
    rotation: list[str | Path] = ["state", "rotate", old, "--keys", tmp_path / "keys.json"]

    with paced_feed(bootstrap, document, private) as feed:
        run_until(old, feed, HALF)
        killed_inside("a shard not yet rotated", 2, *rotation)
        assert "run fugu state rotate again" in refusal(old)
        fugu(*rotation)
        fugu(*rotation)
        document["secret"] = {"file": "keys.json", "encoding": "keys"}
        new = write_pipeline(tmp_path, document)
        run_until(new, feed, HALF + 1_500, kill=True)
        run_until(new, feed, RECORDS)

    document["secret"] = {"env": SECRET_VARIABLE}
    assert "use the key file" in refusal(write_pipeline(tmp_path, document))

    sanitized = read_topic(bootstrap, document["sink"]["topic"])
    for partition, releases in sanitized.items():
        accepted = private.accepted(partition)
        assert [release.timestamp for release in releases] == [r.timestamp for r in accepted]
        names = dict(zip((r.key for r in accepted), (r.key for r in releases), strict=True))
        pairs = zip(accepted, releases, strict=True)
        assert all(names[record.key] == release.key for record, release in pairs), "one pseudonym"
        assert len({release.headers[0] for release in releases}) == len(releases)
