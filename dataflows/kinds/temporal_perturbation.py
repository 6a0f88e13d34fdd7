from typing import Any, Literal

from pydantic import Field

from fugu.dataflows.kinds.families.temporal import CalibratedOperator
from fugu.operators.temporal.random_delays import BackwardPerturbation, ForwardPerturbation
from fugu.operators.temporal.selection import choose
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from fugu.operators.temporal.threshold import ExtendedThresholdPerturbation, ThresholdPerturbation


class TemporalPerturbationOperator(CalibratedOperator):
    """Choose the cheapest of the four other mechanisms in time that keeps `require`."""

    order = 300

    kind: Literal["temporal_perturbation"]
    require: list[Literal["no_missing", "no_repeat", "no_empty"]] = Field(default_factory=list)
    """Say which errors must never happen."""
    extended_by: Literal["budget", "cost"] = "budget"
    """Say what chooses threshold and acceptance: the `budget` alone, or `costs`."""

    @property
    def by_cost(self) -> bool:
        return True

    def _perturbation(self, **common: Any) -> TemporalPerturbation:
        common["epsilon"] = self.nats()
        choice = choose(
            self.window,
            self.nats(),
            self.costs.of(self.window),
            no_missing="no_missing" in self.require,
            no_repeat="no_repeat" in self.require,
            no_empty="no_empty" in self.require,
            by_cost=self.extended_by == "cost",
            calibrate=self.calibrate,
        )
        if choice.kind == BackwardPerturbation.kind:
            return BackwardPerturbation(**common)
        if choice.kind == ForwardPerturbation.kind:
            return ForwardPerturbation(calibrate=self.calibrate, **common)
        found = choice.threshold
        assert found is not None
        if choice.kind == ThresholdPerturbation.kind:
            return ThresholdPerturbation(c0=found.c0, **common)
        return ExtendedThresholdPerturbation(c0=found.c0, acceptance=found.acceptance, **common)
