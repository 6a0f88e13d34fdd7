from typing import Any, Literal

from fugu.dataflows.kinds.families.temporal import TemporalOperator
from fugu.operators.temporal.random_delays import BackwardPerturbation
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation


class BackwardPerturbationOperator(TemporalOperator):
    """Publish at each tick the value of a random earlier one: some twice, some never."""

    order = 303
    mechanism_class = BackwardPerturbation

    kind: Literal["backward_perturbation"]

    def _perturbation(self, **common: Any) -> TemporalPerturbation:
        return BackwardPerturbation(epsilon=self.nats(), **common)
