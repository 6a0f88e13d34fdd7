"""Evaluate strategies under policies, which say when something is hidden.

They stand beside w-event strategies, which hide everything in every window, at the same epsilons.
A window is as long as the longest interval that is open at some tick of the sample, unless the
operator has one: then what is hidden in any window is hidden in any interval.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from fugu.dataflows.kinds import PolicyOperator, as_kind, kinds_of
from fugu.dataflows.offline.evaluation.aggregates.family import AggregateFamily, require_ticks
from fugu.dataflows.offline.evaluation.aggregates.figures import Summed
from fugu.dataflows.offline.evaluation.aggregates.utility import AggregateUtility
from fugu.dataflows.offline.evaluation.candidates import (
    Candidate,
    Grid,
    chosen_epsilons,
    chosen_rivals,
)
from fugu.dataflows.offline.evaluation.family import Wanted
from fugu.dataflows.offline.evaluation.report import Report
from fugu.dataflows.offline.evaluation.sample import Sample, require_times
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.operators.mechanism import Mechanism
from fugu.operators.wevent.budget_absorption import BudgetAbsorption
from fugu.operators.wevent.budget_distribution import BudgetDistribution
from fugu.operators.wevent.rescue_dp import RescueDp
from fugu.operators.wevent.sample import Sample as SampleStrategy
from fugu.operators.wevent.strategy import Strategy
from fugu.operators.wevent.uniform import Uniform

UNDER_POLICIES = kinds_of(PolicyOperator)
_IN_WINDOWS: dict[str, type[Strategy]] = {
    strategy.kind: strategy
    for strategy in (Uniform, SampleStrategy, BudgetDistribution, BudgetAbsorption, RescueDp)
}
RIVALS = (*UNDER_POLICIES, *_IN_WINDOWS)


@dataclass(frozen=True, eq=False)
class PolicyFamily(AggregateFamily):
    """Compare strategies whose epsilon holds in any relevance interval."""

    operator: PolicyOperator

    @classmethod
    def planned(cls, file: PipelineFile, sample: Sample, wanted: Wanted) -> Self:
        operator = file.pipeline.operator
        assert isinstance(operator, PolicyOperator)
        require_times(file.pipeline, "operator.ticks")
        own = operator.policies.section.epsilon
        rivals = chosen_rivals(operator.kind, wanted.rivals, RIVALS)
        summed = Summed.of(file.pipeline, operator, sample)
        require_ticks(sample, summed, 1, "a figure takes")
        window = operator.window or _longest_interval(operator, summed)
        grid = Grid()
        epsilons = chosen_epsilons(own, wanted.epsilons)
        grid.add_each((operator.kind, *rivals), epsilons, partial(_candidate, operator, window))
        grid.require_some()
        return cls(file, sample, grid, summed, (operator.kind, own, window), operator)

    def promises(self, report: Report[AggregateUtility]) -> Iterator[str]:
        yield (
            "eps: nats in any relevance interval, of what policies say. Everything else is not "
            "hidden: where nothing is relevant, see operator.irrelevant "
            f"({self.operator.irrelevant})."
        )
        kinds = dict.fromkeys(row.candidate.kind for row in report.rows)
        names = ", ".join(kind for kind in kinds if kind in _IN_WINDOWS)
        if names:
            yield (
                f"{names}: eps holds in any {self.own[2]:,} ticks in a row, for whatever a user "
                "contributes. They promise more, and policies are kept too."
            )

    def draw(self, report: Report[AggregateUtility], path: Path) -> None:
        from fugu.dataflows.offline.evaluation.aggregates.boxes import save_boxes

        save_boxes(path, report, self.summed, self.truth, UNDER_POLICIES)


def _longest_interval(operator: PolicyOperator, summed: Summed) -> int:
    """Count ticks of those that are open at a tick of the sample; return 1 where none is."""
    relevant = (operator.timeline.relevance(tick, b"") for tick in summed.numbers)
    lengths = (one.end - one.start + 1 for asked in relevant for one in asked.intervals)
    return max(lengths, default=1)


def _candidate(operator: PolicyOperator, window: int, kind: str, epsilon: float) -> Candidate:
    windowed = kind in _IN_WINDOWS or kind.startswith("ts_")
    settings = {"window": window} if windowed else {}
    if kind in _IN_WINDOWS:
        shape = operator.group_count, window, epsilon, operator.sensitivity
        mechanism: Mechanism = _IN_WINDOWS[kind](*shape)
    else:
        section: PolicyOperator = as_kind(operator, kind, window=window if windowed else None)
        mechanism = section.strategy(epsilon)
    return Candidate(kind, epsilon, mechanism, settings, window=window)
