"""A state is not written anew from a backup that is older than what is published."""

from pathlib import Path
from shutil import copytree, rmtree

from tests.faults.feeding import PARTITIONS, PacedFeed, document_with_topics, paced_feed, stream
from tests.faults.outcomes import check_one_outcome_each, published
from tests.kafka.pipelines import fugu, refusal, refused, running, write_pipeline
from tests.kafka.topics import TopicFactory

RECORDS = 1_500
OLDER = "it is an older copy, and would not be charged with it"


def run_until(pipeline: Path, feed: PacedFeed, target: int) -> None:
    """Run until all that was fed is published, and stop."""
    with running(pipeline) as process:
        process.wait_until(lambda: feed.published() >= target)
        assert process.stop() == 0, process.stderr


def test_a_backup_is_brought_up_to_what_is_published_before_it_is_written_anew(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=34)
    third = RECORDS // 3
    source = topics("private", partitions=PARTITIONS)
    document = document_with_topics(bootstrap, topics, source) | {"name": source}
    document["sink"]["create"] = True
    document["state"]["directory"] = str(tmp_path / "state")
    changed = document | {"version": 2, "sink": document["sink"] | {"key": "pseudonym"}}
    old, new = write_pipeline(tmp_path, document), write_pipeline(tmp_path / "new", changed)
    state, backup = tmp_path / "state", tmp_path / "backup"
    migrate = ("migrate", old, new)

    def said(*command: str | Path) -> str:
        return " ".join(refused(*command).split())

    with paced_feed(bootstrap, document, private) as feed:
        feed.feed(third)
        run_until(old, feed, third)
        copytree(state, backup)
        feed.feed(third)
        run_until(old, feed, 2 * third)
        rmtree(state)
        copytree(backup, state)
        assert "was taken over" in said(*migrate)
        assert "was taken over" in refusal(old)
        fugu("state", "claim", old)
        sharded = document | {"state": document["state"] | {"shards": 2}}
        shards = write_pipeline(tmp_path / "shards", sharded)
        before = published(bootstrap, document)
        for command in (migrate, ("state", "repartition", shards), ("redrive", old)):
            assert OLDER in said(*command)
        assert published(bootstrap, document) == before
        feed.feed(third)
        run_until(old, feed, RECORDS)
    assert "goes on under" in fugu(*migrate)
    check_one_outcome_each(private, *published(bootstrap, document))
