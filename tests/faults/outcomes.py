"""Judge what a pipeline has published: one outcome for each private record."""

from tests.faults.feeding import Stream
from tests.kafka.pipelines import Document
from tests.kafka.records import Record, read_topic

Topic = dict[int, list[Record]]


def published(bootstrap: str, document: Document) -> tuple[Topic, Topic]:
    """The sanitized topic and the dead letters, whole."""
    sink = document["sink"]
    return read_topic(bootstrap, sink["topic"]), read_topic(bootstrap, sink["dead_letters"])


def check_one_outcome_each(stream: Stream, sanitized: Topic, dead_letters: Topic) -> None:
    """Every accepted record has one release and every refused one a dead letter, in order."""
    for partition, releases in sanitized.items():
        expected = [(r.key, r.timestamp) for r in stream.accepted(partition)]
        assert [(release.key, release.timestamp) for release in releases] == expected
        names = {release.headers[0] for release in releases}
        assert len(names) == len(releases), "every release has an id of its own"
        assert len(dead_letters[partition]) == stream.refused(partition)
