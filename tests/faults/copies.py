"""Pipelines whose state is in Kafka: documents for them, and what they have committed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.feeding import document_with_topics
from tests.kafka.pipelines import Document, RunningPipeline, running
from tests.kafka.records import read_topic
from tests.kafka.topics import TopicFactory


def copied_document(
    bootstrap: str, topics: TopicFactory, source: str, *, partitions: int
) -> Document:
    """A pipeline over `source`, with a name and a state topic of its own."""
    document = document_with_topics(bootstrap, topics, source, partitions=partitions)
    name = source.removeprefix("fugu-test-")
    return document | {
        "name": name,
        "kafka": document["kafka"] | {"client": "librdkafka"},
        "state": {"store": "kafka", "every": "200ms", "topic": f"{name}.state"},
        "sink": document["sink"] | {"create": True},
    }


def committed(bootstrap: str, document: Document) -> int:
    """How many releases and dead letters count by now."""
    sink = document["sink"]
    return sum(
        len(records)
        for topic in (sink["topic"], sink["dead_letters"])
        for records in read_topic(bootstrap, topic).values()
    )


@contextmanager
def copy_of(pipeline: Path, monkeypatch_name: str | None = None) -> Iterator[RunningPipeline]:
    """One more copy."""
    with running(pipeline) as process:
        yield process
