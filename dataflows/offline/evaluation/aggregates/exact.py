"""Release true figures, with which all strategies are compared, and which nobody publishes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fugu.operators.mechanism import Draws, Guarantee, Inputs, Releases, State


@dataclass(frozen=True)
class Exact:
    """Let figures through as they are, and promise nothing."""

    kind: ClassVar[str] = "exact"
    implementation: ClassVar[int] = 1

    def start(self, rows: int) -> State:
        """Count ticks, as there must be some column."""
        return {"ticks": np.zeros(rows, dtype=np.int64)}

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Release without noise."""
        return {"ticks": state["ticks"] + 1}, Releases(inputs.values)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Promise nothing."""
        return ()

    def audit(self) -> Mapping[str, object]:
        """Hide nothing."""
        return {}

    def law_digest(self) -> bytes:
        """Return a constant, as there are no parameters."""
        return bytes(32)
