"""Hold what a pipeline file allows all pipelines over its source together: `source.budget`."""

from dataclasses import dataclass
from typing import Literal

DELTA_OF_A_NUMBER = 1e-5
"""Bound the delta that may be stated beside a budget that is a number of nats only."""


@dataclass(frozen=True)
class DeclaredBudget:
    """Allow (epsilon, delta); without a delta, epsilon at the delta that pipelines state.

    That may be at most `DELTA_OF_A_NUMBER`. Where a pipeline that declares it states a total over a
    stream's life, it allows no sum per window, unless `per` says so. Per window, an aligned period
    counts twice.
    """

    epsilon: float
    delta: float | None = None
    per: Literal["window"] | None = None

    @property
    def in_words(self) -> str:
        """Say what is allowed."""
        nats = f"{self.epsilon:g} nats"
        return nats if self.delta is None else f"{nats} and delta {self.delta:g}"
