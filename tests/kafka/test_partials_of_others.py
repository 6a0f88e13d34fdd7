"""Partial sums that nobody knows the limits of are never merged."""

from pathlib import Path

from tests.kafka.foretold import refusal_foretold
from tests.kafka.pipelines import pipeline_document, write_pipeline
from tests.kafka.records import Placed, Record, produce
from tests.kafka.topics import TopicFactory


def test_a_log_that_holds_partial_sums_already_is_refused_without_their_state(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    document = pipeline_document(bootstrap, topics("trips", partitions=2), topics("counts"))
    document["operator"] = {
        "kind": "uniform",
        "epsilon": 1.0,
        "window": 4,
        "groups": ["north", "south"],
        "ticks": {"width": "1s"},
    }
    document["sink"]["partials"] = topics("partials")
    produce(bootstrap, document["sink"]["partials"], [Placed(0, Record(b"1", b"another's sums"))])
    pipeline = write_pipeline(tmp_path, document)
    for _ in range(2):
        assert "already holds partial sums" in refusal_foretold(pipeline)
