"""A strategy that adds no noise: what all others are compared with, and never published."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fugu.operators.mechanism import Draws, Guarantee, Inputs, Releases, State


@dataclass(frozen=True)
class Exact:
    """Lets figures through as they are, and promises nothing."""

    kind: ClassVar[str] = "exact"
    implementation: ClassVar[int] = 1

    def start(self, rows: int) -> State:
        """Ticks are counted, as there must be some column."""
        return {"ticks": np.zeros(rows, dtype=np.int64)}

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Without noise."""
        return {"ticks": state["ticks"] + 1}, Releases(inputs.values)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """None."""
        return ()

    def audit(self) -> Mapping[str, object]:
        """Nothing is hidden."""
        return {}

    def law_digest(self) -> bytes:
        """There are no parameters."""
        return bytes(32)
