"""Read a sample from a file: one JSON object per line, by the codec of the pipeline.

    {"key": "user-1", "zone": "rest"}

The key stands in a field of its own, unless `source.key` names one. All other fields are those of
the records in Kafka. A line that the pipeline would refuse is counted, never shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import orjson

from fugu.dataflows.base.batches import Batch, DeadLetters, Decoded, Reason
from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.base.field_paths import placed
from fugu.dataflows.base.ticks import StreamTime, Ticks
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.source_section import TimestampField
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.json_fields import Refused, key_bytes
from fugu.dataflows.records.lenient_json import lenient, trouble
from fugu.operators.mechanism import Array, Floats, Integers

_UNREAD = b"unread"
"""In place of the key of a line that is no JSON object: the codec refuses it anyway."""


@dataclass(frozen=True)
class RefusedLines:
    """Count lines that were refused for one reason, and say where the first of them is."""

    reason: Reason
    field: str
    lines: int
    first_line: int

    def __str__(self) -> str:
        what = f"{self.reason} ({self.field})" if self.field else str(self.reason)
        return f"{what}: {self.lines:,}, first in line {self.first_line}"


@dataclass(frozen=True, eq=False)
class Sample:
    """Hold accepted records, whose offsets are line numbers, and the stream of each of them."""

    path: Path
    decoded: Decoded
    streams: Integers

    @classmethod
    def read(cls, path: Path, key_field: str, codec: Codec) -> "Sample":
        """Read the file; raise `FuguError` if no line of it can be used."""
        example = f"one JSON object per line, such as  {_example(key_field, codec)}"
        try:
            lines = path.read_bytes().split(b"\n")
        except OSError as error:
            raise FuguError(
                f"--sample {path}: cannot be read ({error.strerror}). Give a file with {example}"
            ) from None
        decoded = _decoded(lines, key_field, codec)
        if not decoded.keys:
            why = "; ".join(str(some) for some in refused_lines(decoded.dead)) or "it is empty"
            raise FuguError(f"--sample {path}: no line can be used: {why}. Write {example}")
        return cls(path, decoded, _streams(decoded.keys))

    @property
    def records(self) -> int:
        """Return how many records were accepted."""
        return len(self.streams)

    @property
    def stream_count(self) -> int:
        """Return how many different keys they have."""
        return int(self.streams.max()) + 1

    @property
    def longest_stream(self) -> int:
        """Return how many records the longest stream has."""
        return int(np.bincount(self.streams).max())

    def by_stream(self, records: Integers, values: Array) -> Floats:
        """Sum the values of these records in each stream."""
        streams = self.streams[records]
        return np.asarray(np.bincount(streams, values, self.stream_count), dtype=np.float64)


def refused_lines(dead: DeadLetters) -> Sequence[RefusedLines]:
    """Count refused lines by reason and field, in the order of their first lines."""
    lines: dict[tuple[Reason, str], list[int]] = {}
    for line, reason, field in zip(dead.offsets, dead.reasons, dead.fields, strict=True):
        lines.setdefault((reason, field), []).append(line)
    found = [RefusedLines(*what, len(where), min(where)) for what, where in lines.items()]
    return sorted(found, key=lambda some: some.first_line)


def ticks_in(sample: Sample, ticks: Ticks) -> Ticks:
    """Let all people move stream time where a sample has too few of them, or no heartbeat."""
    keys = set(sample.decoded.keys) | set(sample.decoded.refused.keys)
    if ticks.time.heartbeats:
        there = not ticks.time.heartbeats.isdisjoint(keys)
        return ticks if there else replace(ticks, time=StreamTime(1))
    return replace(ticks, time=StreamTime(min(ticks.time.distinct_keys, len(keys))))


def require_times(pipeline: Pipeline, key: str) -> None:
    """Raise `FuguError` unless each line has its time, which this key of the file is about."""
    if not isinstance(pipeline.source.timestamp, TimestampField):
        raise FuguError(
            f"{key} counts time, and a line of a sample has none but in a field: write "
            "source.timestamp: {field: …, format: epoch-ms} in a copy of the pipeline file, and "
            "the time of each record into its line"
        )


def _decoded(lines: list[bytes], key_field: str, codec: Codec) -> Decoded:
    """Read lines as records of partition 0, which have no time in Kafka; blank ones are none."""
    numbers: list[int] = []
    keys: list[bytes | None] = []
    values: list[bytes | None] = []
    dead = DeadLetters()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        key = b"" if codec.key is not None else _key(line, key_field)
        if isinstance(key, Reason):
            dead.add(number, 0, key, key_field)
            continue
        numbers.append(number)
        keys.append(key)
        values.append(line)
    count = len(numbers)
    codec = replace(codec, max_ahead=None, wire=None, forwarded=False)
    decoded = codec.decode(Batch(0, numbers, [0] * count, keys, values, [[]] * count))
    decoded.dead.extend(dead)
    return decoded


def _key(line: bytes, field: str) -> bytes | Reason:
    """Return the bytes that a producer would send for a text or an integer."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        try:
            record = lenient(line).parsed
        except orjson.JSONDecodeError:
            return _UNREAD
    if not isinstance(record, dict):
        return _UNREAD
    try:
        return trouble(record.get(field)) or key_bytes(record.get(field), field)
    except Refused as refused:
        return refused.reason


def _streams(keys: Sequence[bytes]) -> Integers:
    """Number streams in order of first appearance, as rows of a table are."""
    known: dict[bytes, int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.int64)


def _example(key_field: str, codec: Codec) -> str:
    time = None if codec.timestamp is None else codec.timestamp.field
    fields = (codec.domain.field, time, codec.event)
    named = {key_field: "user-1"} if codec.key is None else {}
    user = {} if codec.key is None else {codec.key: "user-1"}
    record = named | placed(user | {field: "…" for field in fields if field})
    return orjson.dumps(record).decode().replace('"…"', "…").replace(",", ", ").replace(":", ": ")
