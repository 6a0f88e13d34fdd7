"""Report to the supervisor every second, with one line of JSON each time."""

from dataclasses import dataclass, field
from typing import Self

import orjson

from fugu.dataflows.base.metrics import Numbers


@dataclass(frozen=True)
class Report:
    """Hold what a process reports: `partitions` once it runs; `problem`, `stuck`, `degraded` and
    `waiting` are its health."""

    partitions: list[int] = field(default_factory=list)
    numbers: Numbers = field(default_factory=dict)
    problem: str | None = "starting"
    stuck: str | None = None
    degraded: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)

    @property
    def line(self) -> bytes:
        """Return the line that is sent."""
        return orjson.dumps(self) + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self:
        """Return the report of a line that was sent."""
        return cls(**orjson.loads(line))
