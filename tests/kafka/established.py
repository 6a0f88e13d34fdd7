"""Pipelines that ran before: what a restart meets."""

import shutil
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from kafka import KafkaConsumer

from tests.kafka.pipelines import Document, RunningPipeline, pipeline_document, running
from tests.kafka.pipelines import write_pipeline as write
from tests.kafka.records import Placed, Record, end_offsets, produce
from tests.kafka.topics import TopicFactory

RECORDS = 40
ZONES = [b"rest", b"light", b"moderate", b"vigorous"]


@dataclass(frozen=True)
class Established:
    """A pipeline with state and releases; `document` is its file as data."""

    bootstrap: str
    directory: Path
    document: Document

    @property
    def source(self) -> str:
        return str(self.document["source"]["topic"])

    @property
    def sink(self) -> str:
        return str(self.document["sink"]["topic"])

    @property
    def dead_letters(self) -> str:
        return f"{self.sink}.dead"

    @property
    def state(self) -> Path:
        return self.directory / "state" / "shard-0000"

    def write(self) -> Path:
        """Write the pipeline file, as `document` is now."""
        return write(self.directory, self.document)

    def copied_to(self, directory: Path) -> "Established":
        """The same pipeline, state and all, in another directory."""
        shutil.copytree(self.directory, directory)
        document = {
            key: dict(value) if isinstance(value, dict) else value
            for key, value in self.document.items()
        }
        return Established(self.bootstrap, directory, document)

    def published(self) -> int:
        """Return how many records the sanitized topic has taken so far."""
        with closing(KafkaConsumer(bootstrap_servers=self.bootstrap)) as consumer:
            return sum(end_offsets(consumer, self.sink))


def records(first: int, count: int) -> list[Placed]:
    """Records of five users, on two partitions."""
    return [
        Placed(i % 2, Record(b"user-%d" % (i % 5), b'{"zone": "%s"}' % ZONES[i % 4]))
        for i in range(first, first + count)
    ]


def established(
    bootstrap: str, topics: TopicFactory, directory: Path, *, every: str = "100ms", ledger: str = ""
) -> Established:
    """Run a new pipeline over a few records and stop it gracefully."""
    source = topics("established", partitions=2)
    document = pipeline_document(bootstrap, source, f"{source}.out")
    document["state"]["every"] = every
    if ledger:
        document["ledger"] = {"topic": ledger}
    pipeline = Established(bootstrap, directory, document)
    produce(bootstrap, source, records(0, RECORDS))
    with running(pipeline.write()) as process:
        wait_until_published(process, pipeline, RECORDS)
        assert process.stop() == 0, process.stderr
    return pipeline


def wait_until_published(process: RunningPipeline, pipeline: Established, count: int) -> None:
    """Wait until the sanitized topic has taken this many records."""
    with closing(KafkaConsumer(bootstrap_servers=pipeline.bootstrap)) as consumer:
        process.wait_until(lambda: pipeline.sink in consumer.topics())
        process.wait_until(lambda: sum(end_offsets(consumer, pipeline.sink)) >= count)
