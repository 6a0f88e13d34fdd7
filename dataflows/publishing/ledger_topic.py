"""Read and write the records of a ledger topic, and enter pipelines into it.

A key is a JSON list. `[pipeline, source identity]` names a pipeline: its guarantees, as data that
says itself in words. `[pipeline, partition, stream]` names a stream as its sink does, and says
which tenth of its budget is spent: a function of releases only.
"""

import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import orjson

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import KafkaUnavailable, OtherVersion
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.guarantee_data import checked, guarantee_data, read_guarantee
from fugu.dataflows.pipeline.joint import Told, read_told
from fugu.dataflows.pipeline.source_section import DeclaredBudget
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import AT_THE_END

PIPELINE_FORMAT = 6
STREAM_FORMAT = 1
_FORMATS = {"pipeline": PIPELINE_FORMAT, "stream": STREAM_FORMAT}
"""Number what is written, by the kind of entry; a number goes up with every change."""
WITHDRAWN = b"null"
"""The value of an entry that no longer counts."""
_DAMAGES = AttributeError, KeyError, TypeError, ValueError
"""List the errors of content that is not what an entry of its format holds."""


@dataclass(frozen=True)
class PipelineEntry:
    """Hold a pipeline and what it promises about a source topic."""

    pipeline: str
    source: str
    source_identity: str
    sink: str
    sink_identity: str
    guarantee_id: str
    guarantees: tuple[Guarantee, ...]
    source_budget: DeclaredBudget | None
    told: Told | None = None
    """The loss about one value, where it declares other losses about the same people."""

    def key(self) -> bytes:
        """Return the key: one pipeline over one source has one entry."""
        return orjson.dumps([self.pipeline, self.source_identity])

    def value(self) -> bytes:
        """Return everything, as JSON."""
        guarantees = [guarantee_data(guarantee) for guarantee in self.guarantees]
        content = {**vars(self), "guarantees": guarantees}
        return orjson.dumps({"format": PIPELINE_FORMAT, "kind": "pipeline", **content})


@dataclass(frozen=True)
class StreamEntry:
    """Hold how much of its budget a stream has spent."""

    pipeline: str
    source: str
    source_identity: str
    stream: str
    tenths: int
    exhausted: bool


@dataclass(frozen=True)
class UnreadableEntry:
    """Name a pipeline of which this version cannot tell what it promises.

    Another version of Fugu entered it, in a format of its own, or the entry is damaged.
    """

    pipeline: str
    source: str
    source_identity: str
    other_format: int | None = None

    @property
    def why(self) -> str:
        """Say why it cannot be read."""
        entry = f"The entry of {self.pipeline}"
        if self.other_format is None:
            return f"{entry} is damaged."
        return str(OtherVersion(entry, self.other_format, PIPELINE_FORMAT))


def furthest(entries: Iterable[StreamEntry]) -> list[StreamEntry]:
    """Return one entry of each stream: the one that says most.

    A stream that moved to another partition has one from each.
    """
    found: dict[tuple[str, str, str], StreamEntry] = {}
    for entry in entries:
        stream = entry.pipeline, entry.source_identity, entry.stream
        before = found.setdefault(stream, entry)
        if (entry.exhausted, entry.tenths) > (before.exhausted, before.tenths):
            found[stream] = entry
    return list(found.values())


def ledger_key(pipeline: str, partition: int, stream: str) -> bytes:
    """Return the key of a stream's entry."""
    return orjson.dumps([pipeline, partition, stream])


def is_stream_of(pipeline: str, partition: int, key: bytes | None) -> bool:
    """Return whether a record is about a stream of this pipeline and source partition."""
    return key is not None and key.startswith(orjson.dumps([pipeline, partition])[:-1] + b",")


def stream_entry(
    pipeline: str, source: str, source_identity: str, stream: str, level: int
) -> bytes:
    """Return the value of a stream's entry; `level` is that of `ExhaustibleMechanism`."""
    return orjson.dumps(
        {
            "format": STREAM_FORMAT,
            "kind": "stream",
            "pipeline": pipeline,
            "source": source,
            "source_identity": source_identity,
            "stream": stream,
            "tenths": min(level, 10),
            "exhausted": level == AT_THE_END,
        }
    )


def read_entry(value: bytes | None) -> PipelineEntry | StreamEntry | UnreadableEntry | None:
    """Return what a record says; None if it is none of these."""
    try:
        content: Any = orjson.loads(value or b"null")
    except orjson.JSONDecodeError:
        return None
    if not isinstance(content, dict):
        return None
    number, kind = content.pop("format", None), content.pop("kind", None)
    try:
        match kind, number:
            case (("pipeline" | "stream"), int()) if number != _FORMATS[kind]:
                return _unreadable(content, number)
            case "pipeline", int():
                return _read_pipeline(content)
            case "stream", int():
                return checked(StreamEntry(**content))
    except _DAMAGES:
        return None
    return None


def damaged_entry(key: bytes, value: bytes | None) -> UnreadableEntry | None:
    """Return the pipeline of a key whose value is none of these, nor that of a withdrawn entry."""
    try:
        named = orjson.loads(key)
    except orjson.JSONDecodeError:
        return None
    if value in (None, WITHDRAWN):
        return None
    match named:
        case [str(pipeline), str(source_identity)]:
            return UnreadableEntry(pipeline, "", source_identity)
    return None


def _unreadable(content: dict[str, Any], other_format: int | None = None) -> UnreadableEntry:
    pipeline, source, identity = (
        str(content[name]) for name in ("pipeline", "source", "source_identity")
    )
    return UnreadableEntry(pipeline, source, identity, other_format)


def _read_pipeline(content: dict[str, Any]) -> PipelineEntry | UnreadableEntry:
    """Return a pipeline, by its name alone if what it promises is damaged."""
    unreadable = _unreadable(content)
    try:
        guarantees = tuple(map(read_guarantee, content.pop("guarantees")))
        declared = content.pop("source_budget")
        budget = None if declared is None else checked(DeclaredBudget(**declared))
        told = read_told(content.pop("told"))
        entry = PipelineEntry(guarantees=guarantees, source_budget=budget, told=told, **content)
        return checked(entry) if guarantees else unreadable
    except _DAMAGES:
        return unreadable


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
