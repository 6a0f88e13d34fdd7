"""A disk that is full stops the pipeline with a clear error; with room again it goes on."""

from pathlib import Path

import pytest

from tests.faults.feeding import document_with_topics, paced_feed, stream
from tests.faults.outcomes import check_one_outcome_each, published
from tests.kafka.pipelines import FUGU, check_refusal, running, write_pipeline
from tests.kafka.topics import TopicFactory
from tests.thinned import first_in_test

RECORDS = 8_000
LIMITED = ["sh", "-c", 'ulimit -f "$1" && shift && PYTHONDONTWRITEBYTECODE=1 exec "$@"', "sh"]
"""No file may grow beyond so many blocks of 512 bytes: a quota that needs no privileges. Compiled
modules are not written, half of which would stay."""
SMALLEST = 8


@pytest.mark.parametrize(
    "blocks", first_in_test([100, SMALLEST], 1), ids=["a state that grows", "a new state"]
)
def test_a_quota_that_is_reached_loses_nothing(
    blocks: int, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """Supervisors start it again until there is room: a full disk may pass, so it is never 78."""
    private = stream(RECORDS, seed=blocks, partitions=1)
    source = topics("private", partitions=1)
    document = document_with_topics(bootstrap, topics, source, partitions=1)
    document["state"]["every"] = "100ms"
    pipeline = write_pipeline(tmp_path, document)

    with paced_feed(bootstrap, document, private) as feed:
        for quota in (blocks, SMALLEST):
            with running(pipeline, command=[*LIMITED, str(quota), FUGU]) as full:
                while full.process.poll() is None and feed.fed < RECORDS:
                    feed.advance()
                said = check_refusal(full)
                assert full.exit_code() == 1, said
            assert "cannot be written" in said
            assert "Make room" in said
            assert "user-" not in said
        with running(pipeline) as process:
            process.wait_until(lambda: feed.advance() >= RECORDS)
            assert process.stop() == 0, process.stderr

    check_one_outcome_each(private, *published(bootstrap, document))
