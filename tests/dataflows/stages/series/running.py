"""A pipeline of series over one partition, from records to published bytes, without Kafka."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import yaml

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.pipeline.mechanisms import Configured, columns_of, configure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.publishing.envelope import Pseudonyms, Publisher
from fugu.dataflows.stages.admission import Admission
from fugu.dataflows.stages.series import SeriesPerTick
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.randomness import DrawScope
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.secret import Secret

SECRET = Secret(bytes(range(32)))
SECONDS: dict[str, Any] = {
    "width": "1s",
    "max_jump": 30,
    "idle": 20,
    "stream_time": {"distinct_keys": 1},
}
OPERATOR: dict[str, Any] = {
    "kind": "real_time_local",
    "lower": 40,
    "upper": 180,
    "epsilon": 8.0,
    "delta": 1e-6,
    "horizon": 100,
    "ticks": SECONDS,
}
PIPELINE: dict[str, Any] = {
    "name": "heart-rate",
    "source": {"topic": "raw", "value": "bpm", "timestamp": {"field": "at", "format": "epoch-ms"}},
    "operator": OPERATOR,
    "sink": {"topic": "sanitized", "key": "original"},
    "kafka": {"bootstrap": "localhost:9092"},
    "state": {"directory": "./state"},
    "secret": {"env": "FUGU_TEST_SECRET"},
}

Message = tuple[bytes, bytes]
Release = tuple[bytes | None, bytes, tuple[bytes, ...], int]


def message(user: str, at: int, value: object = 70) -> Message:
    """A reading of a user at a time in milliseconds."""
    return user.encode(), orjson.dumps({"bpm": value, "at": at})


def pipeline_file(directory: Path, sections: dict[str, Any] | None = None) -> PipelineFile:
    """A pipeline file with other sections."""
    path = directory / "pipeline.yaml"
    path.write_text(yaml.safe_dump(PIPELINE | (sections or {})))
    return PipelineFile.read(path)


def operator(ticks: dict[str, Any] | None = None, **entries: Any) -> dict[str, Any]:
    """An operator section with other entries, or without those that are None."""
    section = OPERATOR | entries | {"ticks": SECONDS | (ticks or {})}
    return {name: entry for name, entry in section.items() if entry is not None}


def running(directory: Path, ticks: dict[str, Any] | None = None, **entries: Any) -> "Running":
    """A pipeline with other entries in its operator section."""
    return Running(pipeline_file(directory, {"operator": operator(ticks, **entries)}))


@dataclass
class Running:
    """What went in and came out so far."""

    file: PipelineFile
    partition: int = 0
    releases: list[Release] = field(default_factory=list)
    dead: list[tuple[int, str]] = field(default_factory=list)
    read: int = 0

    def __post_init__(self) -> None:
        self.configured: Configured = configure(self.file)
        mechanism, ticks = self.configured.mechanism, self.file.pipeline.operator.in_ticks()
        assert isinstance(mechanism, LocalRealTimeRelease)
        assert ticks is not None
        scope = DrawScope(SECRET, "heart-rate", mechanism.kind, 1, mechanism.law_digest())
        self.mechanism = mechanism
        self.lift = SeriesPerTick(
            mechanism, scope, "topic-id", Admission("unchecked", 1, 100), ticks
        )
        self.table = self._empty()
        self.publisher = Publisher(
            codec=self.configured.codec,
            scope=scope,
            source="topic-id",
            source_topic="raw",
            guarantee_id=b"0123456789abcdef",
            key_policy="original",
            pseudonyms=Pseudonyms(SECRET.derive("pseudonyms"), "sanitized"),
        )

    def feed(self, messages: Sequence[Message], *, at_once: int = 1_000) -> "Running":
        """Records as fetches of this size return them."""
        for start in range(0, len(messages), at_once):
            part = messages[start : start + at_once]
            offsets = list(range(self.read, self.read + len(part)))
            keys, values = [key for key, _ in part], [value for _, value in part]
            times = [7_000] * len(part)
            batch = Batch(self.partition, offsets, times, [*keys], [*values], [[] for _ in part])
            self.read += len(part)
            sanitized = self.lift(self.configured.codec.decode(batch), self.table)
            out = self.publisher.releases(sanitized)
            headers = [tuple(content for _, content in found) for found in out.headers]
            self.releases += zip(out.keys, out.values, headers, out.timestamps, strict=True)
            dead = sanitized.dead
            self.dead += [(o, str(r)) for o, r in zip(dead.offsets, dead.reasons, strict=True)]
        return self

    def told(self, user: str) -> list[dict[str, Any]]:
        """Releases of one stream, each with the second that its tick ended at."""
        return [
            orjson.loads(value) | {"second": timestamp // 1000}
            for key, value, _, timestamp in self.releases
            if key == user.encode()
        ]

    def restart(self) -> None:
        """Write the state and read it back."""
        content, self.table = self.table.take_everything(), self._empty()
        self.table.apply(content)

    def _empty(self) -> RowTable:
        return RowTable(columns_of(self.file.pipeline, self.configured.mechanism))
