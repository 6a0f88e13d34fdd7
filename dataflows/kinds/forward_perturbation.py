from typing import Any, Literal

from fugu.dataflows.kinds.families.temporal import CalibratedOperator
from fugu.operators.temporal.random_delays import ForwardPerturbation
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation


class ForwardPerturbationOperator(CalibratedOperator):
    """Delay each value at random; of those that meet at a tick one is kept."""

    order = 304
    mechanism_class = ForwardPerturbation

    kind: Literal["forward_perturbation"]

    def _perturbation(self, **common: Any) -> TemporalPerturbation:
        return ForwardPerturbation(epsilon=self.nats(), calibrate=self.calibrate, **common)
