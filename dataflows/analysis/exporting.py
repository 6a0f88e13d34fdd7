"""Export a sanitized topic step by step, so that every release is in exactly one file."""

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fugu.dataflows.analysis.collected import COLLECTED, collected_range
from fugu.dataflows.analysis.exported import write_days
from fugu.dataflows.analysis.reading import decoded_records, kafka_promises
from fugu.dataflows.base.errors import FuguError, KafkaUnavailable
from fugu.dataflows.kafka.client import Bounds, Client, Topic
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.publishing.promise import Promise, promise_of

RECORD = "_fugu_export.json"
"""The file that says what has been exported, and what was about to be."""
_AT_ONCE = 500_000
"""Offsets of a partition whose releases are in memory at a time."""


@dataclass
class Progress:
    """Say how far an export has come: by partition, where it began, and where it goes on.

    A range in `pending` was written down before its first file was, and is written again as it was.
    """

    topic: str
    identity: str
    begins: dict[str, int] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    pending: dict[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path, topic: Topic) -> "Progress":
        """Read the record of a folder, or begin one; a folder is about one topic."""
        record = folder / RECORD
        if not record.exists():
            if any(folder.rglob("*.parquet")):
                raise FuguError(f"{folder}: holds Parquet files of others; give an empty directory")
            return cls(topic.name, topic.identity)
        found = cls(**orjson.loads(record.read_bytes()))
        if (found.topic, found.identity) != (topic.name, topic.identity):
            raise FuguError(
                f"{folder}: is an export of topic {found.topic} with another topic id; give "
                "another directory"
            )
        return found

    def keep(self, folder: Path) -> None:
        """Write the record durably, at once or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f".{RECORD}.unfinished"
        with unfinished.open("wb") as file:
            file.write(orjson.dumps(asdict(self)))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(folder / RECORD)


def export_sink(client: Client, pipeline: PipelineFile, folder: Path) -> int:
    """Export the sanitized topic of a pipeline, with the promise beside it, or that of the file."""
    name = pipeline.pipeline.sink.topic
    topic = client.topic(name)
    if topic is None:
        raise KafkaUnavailable(f"topic {name} does not exist. Has the pipeline run yet?")
    promises = kafka_promises(client, name, topic.identity)
    if not promises:
        promises = [promise_of(pipeline, configure(pipeline).mechanism, topic.identity)]
    return export(client, topic, promises, folder)


def export(client: Client, topic: Topic, promises: list[Promise], folder: Path) -> int:
    """Write what is in the topic now and not yet in the folder; return how many releases.

    Run it again to go on, also after it was killed.
    """
    progress, written = Progress.of(folder, topic), 0
    with closing(client.reader(topic.name)) as reader:
        bounds = reader.bounds(list(range(topic.partitions)))
    for partition, bound in sorted(bounds.items()):
        name = str(partition)
        while True:
            if name in progress.pending:
                first, end = progress.pending[name]
            else:
                first = progress.ends.get(name, bound.start)
                end = min(bound.end, first + _AT_ONCE)
                if first >= end:
                    break
            if first < bound.start:
                raise FuguError(
                    f"topic {topic.name}, partition {partition}: offsets {first} to {bound.start} "
                    "are gone (retention), and were not exported. What there is makes a whole "
                    "export no more: give another directory, and export more often"
                )
            progress.begins.setdefault(name, first)
            progress.pending[name] = first, end
            progress.keep(folder)
            its = Bounds(first, end)
            begin = progress.begins[name]
            written += _export_range(client, topic, promises, folder, partition, its, begin)
            del progress.pending[name]
            progress.ends[name] = end
            progress.keep(folder)
    return written


def _export_range(
    client: Client,
    topic: Topic,
    promises: list[Promise],
    folder: Path,
    partition: int,
    its: Bounds,
    begin: int,
) -> int:
    batches = collected_range(client, topic, {partition: its})
    collected = pa.Table.from_batches(batches, COLLECTED)
    if not len(collected):
        return 0
    records = decoded_records(collected, promises)
    for path in _earlier_files(folder, partition, its.start):
        there = pq.read_table(path, columns=["release"], partitioning=None)["release"]
        records = records.filter(pc.invert(pc.is_in(records["release"], value_set=there)))
    if len(records):
        write_days(records, promises, begin, folder, its.start, its.end)
    return len(records)


def _earlier_files(folder: Path, partition: int, before: int) -> Iterator[Path]:
    """Yield the files of a partition that hold earlier ranges."""
    for path in sorted(folder.rglob(f"p{partition:05d}-*.parquet")):
        if int(path.name.split("-")[1]) < before:
            yield path
