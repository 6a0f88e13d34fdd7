"""Show what policies ask of the newest figure, and how much of its noise is whose.

All of it follows from policies and from which ticks were released, which are public.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from fugu.dataflows.base.metrics import (
    COLLECTION_AFFECTED,
    COLLECTION_NOISE,
    COLLECTION_SENSITIVITY,
    POLICY_NOISE,
    Metrics,
)
from fugu.dataflows.kinds import PolicyOperator
from fugu.operators.mechanism import State
from fugu.operators.swellfish.relevance import Relevance


@dataclass(frozen=True)
class PolicyNoise:
    """Show the numbers of a pipeline under policies, for its sanitized topic."""

    operator: PolicyOperator
    topic: str
    metrics: Metrics

    def __call__(self, state: State) -> None:
        """Show those of the tick that was released last, after which the mechanism has this
        state."""
        [tick], [changes] = state["tick"].tolist(), state["changes"].tolist()
        asked = self.operator.timeline.by_collection(tick - 1, changes)
        for name, relevance in asked.items():
            sensitivity, affected = _largest([relevance])
            for metric, number in (
                (COLLECTION_SENSITIVITY, self._in_ones(sensitivity)),
                (COLLECTION_AFFECTED, affected),
                (COLLECTION_NOISE, self._noise(sensitivity, affected)),
            ):
                self.metrics.put(metric, number, self.topic, name)
        self.metrics.put(POLICY_NOISE, self._noise(*_largest(asked.values())), self.topic)

    def _noise(self, sensitivity: int, affected: int) -> float:
        return self._in_ones(sensitivity) * affected / self.operator.policies.section.epsilon

    def _in_ones(self, units: int) -> float:
        return units / self.operator.units_per_one


def _largest(asked: Iterable[Relevance]) -> tuple[int, int]:
    """Return the largest Delta_t, and the largest delta(J) of an open interval."""
    relevances = list(asked)
    return (
        max([one.sensitivity for one in relevances], default=0),
        max([each.affected for one in relevances for each in one.intervals], default=0),
    )
