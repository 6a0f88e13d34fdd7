"""Evaluate noise at every tick under a personal cap: the pipeline's own cap and others."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

from fugu.dataflows.kinds.uniform import UniformOperator
from fugu.dataflows.offline.evaluation.aggregates.under_caps import CapsFamily
from fugu.dataflows.offline.evaluation.aggregates.utility import AggregateUtility
from fugu.dataflows.offline.evaluation.report import Report
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Mechanism
from fugu.operators.wevent.spread_strategies import Uniform


@dataclass(frozen=True, eq=False)
class CappedFamily(CapsFamily[UniformOperator]):
    """Compare caps of a strategy that releases every tick with Laplace noise."""

    @classmethod
    def section_of(cls, file: PipelineFile) -> tuple[UniformOperator, float]:
        operator = file.pipeline.operator
        assert isinstance(operator, UniformOperator)
        assert operator.epsilon is not None
        return operator, float(operator.epsilon)

    @classmethod
    def mechanism(cls, operator: UniformOperator) -> Mechanism:
        return operator.strategy()

    @classmethod
    def deviation(cls, mechanism: Mechanism) -> float:
        assert isinstance(mechanism, Uniform)
        return sqrt(2.0) * mechanism.sensitivity / in_nats(mechanism.largest_tick)

    @classmethod
    def window(cls, operator: UniformOperator, ticks: int) -> int:
        assert operator.personal_cap is not None
        return operator.personal_cap.ticks

    def of_columns(self, report: Report[AggregateUtility]) -> Iterator[str]:
        yield (
            "MAE, MSE: mean over ticks and groups of what a figure errs, and of its square; held: "
            "how many lie within value ± 1.96 standard_error, which knows nothing of what is cut "
            "off."
        )

    def promises(self, report: Report[AggregateUtility]) -> Iterator[str]:
        assert self.caps is not None
        yield (
            "eps: nats for everything a user contributes in an aligned period of "
            f"{self.caps.own.ticks:,} ticks."
        )
        yield from self.caps.in_words(report)
