from typing import Any, Literal

from fugu.dataflows.kinds.families.temporal import ThresholdOperator
from fugu.operators.temporal.selection import Threshold, select_by_cost
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from fugu.operators.temporal.threshold import ExtendedThresholdPerturbation


class ExtendedThresholdPerturbationOperator(ThresholdOperator):
    """Publish values as `threshold_perturbation` does, and drop some, for small epsilons."""

    order = 302
    mechanism_class = ExtendedThresholdPerturbation

    kind: Literal["extended_threshold_perturbation"]
    acceptance: float | None = None
    """The chance that a value is taken at all; goes with `threshold`."""
    extended_by: Literal["budget", "cost"] = "budget"
    """Say what chooses threshold and acceptance: the `budget` alone, or `costs`."""

    @property
    def by_cost(self) -> bool:
        return self.extended_by == "cost"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.threshold is None and self.acceptance is not None:
            raise ValueError("threshold: goes with acceptance; add it, or write epsilon only")
        if self.threshold is not None and self.acceptance is None:
            raise ValueError("acceptance: goes with threshold; add it, or write epsilon only")

    def _perturbation(self, **common: Any) -> TemporalPerturbation:
        made = ExtendedThresholdPerturbation
        common["start_mode"] = self.start
        if self.threshold is not None and self.acceptance is not None:
            chosen = Threshold(self.threshold, float(self.acceptance))
        elif self.by_cost:
            chosen = select_by_cost(self.window, self.nats(), self.costs.of(self.window))
        else:
            return made.for_budget(epsilon=self.nats(), **common)
        return made(c0=chosen.c0, acceptance=chosen.acceptance, epsilon=self.epsilon, **common)
