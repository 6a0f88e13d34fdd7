"""Streams over one partition, from records to published bytes, without Kafka."""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.offline.in_memory import InMemory
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.randomness import Secret

SECRET = Secret(bytes(range(32)))
SECTIONS: dict[str, Any] = {
    "name": "heart-rate",
    "source": {"topic": "raw", "value": "bpm", "timestamp": {"field": "at", "format": "epoch-ms"}},
    "sink": {"topic": "sanitized", "key": "original"},
    "kafka": {"bootstrap": "localhost:9092"},
    "state": {"directory": "./state"},
    "secret": {"env": "FUGU_TEST_SECRET"},
}

Message = tuple[bytes, bytes]
Release = tuple[bytes | None, bytes, tuple[bytes, ...], int]


@dataclass
class Running:
    """Hold what went in and came out so far."""

    file: PipelineFile
    max_keys: int = 1_000
    partition: InitVar[int] = 0
    releases: list[Release] = field(default_factory=list)

    def __post_init__(self, partition: int) -> None:
        configured = configure(self.file)
        self.memory = InMemory.of(self.file.pipeline, configured, SECRET, self.max_keys)
        self.memory.partition = partition

    @property
    def dead(self) -> list[tuple[int, str, str]]:
        """Offset, reason and field of each refused record."""
        dead = self.memory.dead
        return list(zip(dead.offsets, map(str, dead.reasons), dead.fields, strict=True))

    def feed(self, messages: Sequence[Message], *, at_once: int = 1_000) -> "Running":
        """Records as fetches of this size return them."""
        keys, values = [key for key, _ in messages], [value for _, value in messages]
        times = [7_000 + self.memory.read + place for place in range(len(keys))]
        return self._kept(self.memory.feed(keys, values, times, at_once))

    def finish(self) -> "Running":
        """End every epoch as the pipeline file says."""
        end = self.file.pipeline.operator.finishing
        assert end is not None
        return self._kept(self.memory.finish(end))

    def restart(self) -> None:
        """Write the state and read it back."""
        self.memory.restart()

    def _kept(self, out: Outgoing) -> "Running":
        headers = [tuple(content for _, content in found) for found in out.headers]
        self.releases += zip(out.keys, out.values, headers, out.timestamps, strict=True)
        return self
