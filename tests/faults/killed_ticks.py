"""Run streams in ticks of event time twice: undisturbed, and killed now and then."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer

from tests.faults.feeding import document_with_topics
from tests.faults.outcomes import Topic, published
from tests.kafka.pipelines import Document, RunningPipeline, running, write_pipeline
from tests.kafka.records import NOW, Placed, end_offsets, produce
from tests.kafka.topics import TopicFactory

PARTITIONS = 2
SECOND = 1_000
BEGIN = NOW // SECOND * SECOND
_SHARES_AT_KILLS = (0.2, 0.6)


@dataclass(frozen=True)
class Killed:
    """Hold the pipeline that was killed, and what it has published, which is the same in peace."""

    pipeline: Path
    sanitized: Topic
    dead_letters: Topic


def killed_in_the_middle(
    bootstrap: str,
    topics: TopicFactory,
    folder: Path,
    readings: Sequence[Placed],
    *,
    field: str,
    operator: Mapping[str, Any],
    releases: int,
    refused: int,
) -> Killed:
    """Run both until so much is released and refused: what is late closes no tick."""
    source = topics("private", partitions=PARTITIONS)
    produce(bootstrap, source, readings)
    disturbed, undisturbed = (
        document_with_topics(bootstrap, topics, source, partitions=PARTITIONS) for _ in range(2)
    )
    for document in (disturbed, undisturbed):
        document["source"] |= {"value": field, "timestamp": {"field": "at", "format": "epoch-ms"}}
        document["operator"] = dict(operator)
        document["state"]["every"] = "200ms"
    here = write_pipeline(folder / "disturbed", disturbed)
    there = write_pipeline(folder / "undisturbed", undisturbed)

    def wait_for_all(run: RunningPipeline, document: Document) -> None:
        _wait_for(bootstrap, run, document["sink"]["topic"], releases)
        _wait_for(bootstrap, run, document["sink"]["dead_letters"], refused)

    with running(there) as alone:
        for share in _SHARES_AT_KILLS:
            with running(here) as run:
                _wait_for(bootstrap, run, disturbed["sink"]["topic"], int(share * releases))
                run.kill()
        with running(here) as run:
            wait_for_all(run, disturbed)
            assert run.stop() == 0, run.stderr
        wait_for_all(alone, undisturbed)
        assert alone.stop() == 0, alone.stderr
    sanitized, dead_letters = published(bootstrap, disturbed)
    assert (sanitized, dead_letters) == published(bootstrap, undisturbed)
    assert sum(map(len, dead_letters.values())) == refused
    return Killed(here, sanitized, dead_letters)


def _wait_for(bootstrap: str, run: RunningPipeline, topic: str, count: int) -> None:
    """Wait until so much is published, by this run and those before it."""
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        run.wait_until(lambda: sum(end_offsets(consumer, topic)) >= count)
