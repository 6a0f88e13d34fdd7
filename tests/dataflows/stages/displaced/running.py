"""A temporal pipeline over one partition, from records to published bytes, without Kafka."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from fugu.dataflows.base.batches import Batch, Sanitized
from fugu.dataflows.kinds import TemporalOperator
from fugu.dataflows.pipeline.mechanisms import Configured, columns_of, configure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.publishing.envelope import Pseudonyms, Publisher
from fugu.dataflows.stages.admission import Admission
from fugu.dataflows.stages.displaced import PayloadsPerTick
from fugu.dataflows.stages.per_record import PerRecord
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.randomness import DrawScope
from fugu.operators.secret import Secret
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation

SECRET = Secret(bytes(range(32)))
OPERATOR: dict[str, Any] = {"kind": "threshold_perturbation", "window": 5, "threshold": 3}
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
Dead = tuple[int, str, str]


def pipeline_file(
    directory: Path, source: dict[str, Any], operator: dict[str, Any]
) -> PipelineFile:
    """A pipeline file with other entries, or without those that are None, in two sections."""
    section = {name: entry for name, entry in (OPERATOR | operator).items() if entry is not None}
    document = PIPELINE | {"source": PIPELINE["source"] | source, "operator": section}
    path = directory / "pipeline.yaml"
    path.write_text(yaml.safe_dump(document))
    return PipelineFile.read(path)


@dataclass
class Running:
    """What went in and came out so far."""

    file: PipelineFile
    max_keys: int = 1_000
    partition: int = 0
    releases: list[Release] = field(default_factory=list)
    dead: list[Dead] = field(default_factory=list)
    read: int = 0

    def __post_init__(self) -> None:
        self.configured: Configured = configure(self.file)
        mechanism, ticks = self.configured.mechanism, self.file.pipeline.operator.in_ticks()
        assert isinstance(mechanism, TemporalPerturbation)
        scope = DrawScope(SECRET, "heart-rate", mechanism.kind, 1, mechanism.law_digest())
        admission = Admission("unchecked", 1, self.max_keys)
        self.lift: PerRecord | PayloadsPerTick = PerRecord(mechanism, scope, "topic-id", admission)
        if ticks is not None:
            self.lift = PayloadsPerTick(mechanism, scope, "topic-id", admission, ticks)
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
            batch = Batch(
                self.partition,
                offsets,
                [7_000 + offset for offset in offsets],
                [key for key, _ in part],
                [value for _, value in part],
                [[] for _ in part],
            )
            self.read += len(part)
            self._publish(self.lift(self.configured.codec.decode(batch), self.table))
        return self

    def finish(self) -> "Running":
        """End every epoch as the pipeline file says."""
        operator = self.file.pipeline.operator
        assert isinstance(operator, TemporalOperator)
        self._publish(self.lift.finish(self.partition, self.table, operator.end))
        return self

    def restart(self) -> None:
        """Write the state and read it back."""
        content, self.table = self.table.take_everything(), self._empty()
        self.table.apply(content)

    def _empty(self) -> RowTable:
        return RowTable(columns_of(self.file.pipeline, self.configured.mechanism))

    def _publish(self, sanitized: Sanitized) -> None:
        out = self.publisher.releases(sanitized)
        headers = [tuple(content for _, content in found) for found in out.headers]
        self.releases += zip(out.keys, out.values, headers, out.timestamps, strict=True)
        dead = sanitized.dead
        self.dead += [
            (offset, str(reason), name)
            for offset, reason, name in zip(dead.offsets, dead.reasons, dead.fields, strict=True)
        ]
