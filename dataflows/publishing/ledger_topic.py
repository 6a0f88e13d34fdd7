"""Read a ledger topic, and enter a pipeline into it."""

import time
from contextlib import closing
from dataclasses import dataclass, field

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.publishing.entries import (
    WITHDRAWN,
    PipelineEntry,
    StreamEntry,
    UnreadableEntry,
    damaged_entry,
    furthest,
    read_entry,
)

_PARTITIONS = 4
_SETTINGS = {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}


@dataclass
class LedgerContent:
    """Hold the newest entry of every key."""

    pipelines: list[PipelineEntry] = field(default_factory=list)
    streams: list[StreamEntry] = field(default_factory=list)
    unreadable: list[UnreadableEntry] = field(default_factory=list)


def find_ledger(client: Client, pipeline: Pipeline) -> Topic | None:
    """Return the ledger topic that a pipeline file names, created if it says so; None without
    one."""
    ledger = pipeline.ledger
    if ledger is None:
        return None
    topic = client.topic(ledger.topic)
    if topic is None and ledger.create:
        client.create_topic(ledger.topic, _PARTITIONS, _SETTINGS)
        topic = client.topic(ledger.topic)
    problem = ledger_problem(topic, ledger.topic)
    if problem is not None:
        raise KafkaUnavailable(problem)
    return topic


def ledger_problem(topic: Topic | None, name: str) -> str | None:
    """Return what keeps a topic from being a ledger."""
    if topic is None:
        return (
            f"topic {name} (ledger.topic) does not exist. Create it with cleanup.policy=compact, "
            "or write ledger.create: true."
        )
    found = (topic.settings or _SETTINGS).get("cleanup.policy")
    if found != "compact":
        return (
            f"topic {name} (ledger.topic): set cleanup.policy=compact (it is {found}), because "
            "promises must stay as long as what was released under them."
        )
    return None


def read_ledger(client: Client, topic: Topic) -> LedgerContent:
    """Return everything a ledger says now."""
    content, streams = LedgerContent(), list[StreamEntry]()
    for key, value in newest_values(client, topic).items():
        match read_entry(value) or damaged_entry(key, value):
            case PipelineEntry() as entry:
                content.pipelines.append(entry)
            case StreamEntry() as entry:
                streams.append(entry)
            case UnreadableEntry() as entry:
                content.unreadable.append(entry)
    content.streams = furthest(streams)
    return content


def newest_values(client: Client, topic: Topic) -> dict[bytes, bytes | None]:
    """Return the newest value of every key of a topic."""
    newest: dict[bytes, bytes | None] = {}
    with closing(client.reader(topic.name)) as reader:
        for partition, bounds in reader.bounds(list(range(topic.partitions))).items():
            for batch in reader.read_range(partition, bounds.start, bounds.end):
                newest |= {key or b"": value for _, _, key, value, _ in batch.records()}
    return newest


def write_entry(client: Client, topic: Topic, entry: PipelineEntry) -> None:
    """Enter a pipeline, durably."""
    write_record(client, topic, entry.key(), entry.value())


def withdraw_entry(client: Client, topic: Topic, entry: PipelineEntry) -> None:
    """Take an entry back: the pipeline never began."""
    write_record(client, topic, entry.key(), WITHDRAWN)


def write_record(client: Client, topic: Topic, key: bytes, value: bytes) -> None:
    """Write a record to the first partition, durably."""
    writer = client.writer()
    try:
        writer.write(
            topic.name,
            Outgoing(
                partition=0,
                keys=[key],
                values=[value],
                headers=[[]],
                timestamps=[int(time.time() * 1000)],
            ),
        )
        writer.flush()
    finally:
        writer.close()
