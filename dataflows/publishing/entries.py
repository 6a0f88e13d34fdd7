"""Write and read the records of a ledger topic.

A key is a JSON list. `[pipeline, source identity]` names a pipeline: its guarantees, as data that
says itself in words.
`[pipeline, partition, stream]` names a stream as its sink does, and says which tenth of its budget
is spent: a function of releases only.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from fugu.dataflows.pipeline.checked import checked
from fugu.dataflows.pipeline.declared_budget import DeclaredBudget
from fugu.dataflows.pipeline.guarantee_data import guarantee_data, read_guarantee
from fugu.dataflows.pipeline.joint import Told, read_told
from fugu.dataflows.publishing.former_formats import read_format_1, read_format_2
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import AT_THE_END

PIPELINE_FORMAT = 3
"""Number what is written about pipelines; it goes up with every field that is added."""
BESIDE_FORMAT = 5
"""Number entries that declare other pipelines about the same people: only those have the field, so
that versions before read all others. Those of format 4 do not say whether releases are memoryless,
and so count as if they were not."""
_READERS = {
    1: read_format_1,
    2: read_format_2,
    PIPELINE_FORMAT: read_guarantee,
    4: read_guarantee,
    BESIDE_FORMAT: read_guarantee,
}
STREAM_FORMAT = 1
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
        number = BESIDE_FORMAT
        if self.told is None:
            number = PIPELINE_FORMAT
            del content["told"]
        return orjson.dumps({"format": number, "kind": "pipeline", **content})


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

    A later version of Fugu entered it, or the entry is damaged.
    """

    pipeline: str
    source: str
    source_identity: str


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
            case "pipeline", int():
                return _read_pipeline(number, content)
            case "stream", 1:
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


def _read_pipeline(number: int, content: dict[str, Any]) -> PipelineEntry | UnreadableEntry:
    """Return a pipeline, by its name alone if this version cannot read what it promises."""
    names = ("pipeline", "source", "source_identity")
    unreadable = UnreadableEntry(*(str(content[name]) for name in names))
    try:
        guarantees = tuple(map(_READERS[number], content.pop("guarantees")))
        budget = _read_budget(content.pop("source_budget"))
        told = read_told(content.pop("told", None))
        entry = PipelineEntry(guarantees=guarantees, source_budget=budget, told=told, **content)
        return checked(entry) if guarantees else unreadable
    except _DAMAGES:
        return unreadable


def _read_budget(content: Any) -> DeclaredBudget | None:
    """Return a declared budget; entries of format 1 and 2 have a number of nats, or none."""
    match content:
        case None:
            return None
        case int() | float():
            return checked(DeclaredBudget(content))
        case _:
            return checked(DeclaredBudget(**content))
