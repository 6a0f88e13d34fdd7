"""What a supervised process tells its supervisor every second, one line of JSON each time."""

from dataclasses import dataclass, field
from typing import Self

import orjson

from fugu.dataflows.base.metrics import Numbers


@dataclass(frozen=True)
class Report:
    """`partitions` are known once it runs; `problem` and `stuck` are its health."""

    partitions: list[int] = field(default_factory=list)
    numbers: Numbers = field(default_factory=dict)
    problem: str | None = "starting"
    stuck: str | None = None

    @property
    def line(self) -> bytes:
        """As it is sent."""
        return orjson.dumps(self) + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self:
        """As it was sent."""
        return cls(**orjson.loads(line))
