from typing import Any, Literal

from fugu.dataflows.kinds.families.temporal import ThresholdOperator
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from fugu.operators.temporal.threshold import ThresholdPerturbation


class ThresholdPerturbationOperator(ThresholdOperator):
    """Publish each value as it is, at its own tick or one of the `window` - 1 that follow."""

    order = 301
    mechanism_class = ThresholdPerturbation

    kind: Literal["threshold_perturbation"]

    def _perturbation(self, **common: Any) -> TemporalPerturbation:
        made = ThresholdPerturbation
        if self.threshold is None:
            return made.for_budget(epsilon=self.nats(), start_mode=self.start, **common)
        return made(c0=self.threshold, epsilon=self.epsilon, start_mode=self.start, **common)
