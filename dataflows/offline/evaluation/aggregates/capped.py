"""Evaluate strategies under a personal cap: the pipeline's own cap and others."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from pathlib import Path
from typing import Self

from fugu.dataflows.kinds.uniform import UniformOperator
from fugu.dataflows.offline.evaluation.aggregates.caps import Caps, with_other_caps
from fugu.dataflows.offline.evaluation.aggregates.family import AggregateFamily, require_ticks
from fugu.dataflows.offline.evaluation.aggregates.figures import Figures
from fugu.dataflows.offline.evaluation.aggregates.utility import (
    AggregateUtility,
    RealTimeUtility,
)
from fugu.dataflows.offline.evaluation.candidates import (
    Candidate,
    Grid,
    chosen_epsilons,
    chosen_rivals,
)
from fugu.dataflows.offline.evaluation.family import Wanted
from fugu.dataflows.offline.evaluation.report import Beside, Report
from fugu.dataflows.offline.evaluation.run import Advance
from fugu.dataflows.offline.evaluation.sample import Sample, require_times
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Mechanism
from fugu.operators.personal_cap import cap_of
from fugu.operators.secret import Secret
from fugu.operators.wevent.uniform import Uniform


@dataclass(frozen=True, eq=False)
class CappedFamily(AggregateFamily):
    """Compare caps of a strategy that releases every tick with Laplace noise."""

    caps: Caps[UniformOperator]

    @classmethod
    def planned(cls, file: PipelineFile, sample: Sample, wanted: Wanted) -> Self:
        operator = file.pipeline.operator
        assert isinstance(operator, UniformOperator)
        assert operator.epsilon is not None
        require_times(file.pipeline, "operator.ticks")
        chosen_rivals(operator.kind, wanted.rivals, ())
        caps = Caps.of(file, operator, sample, _deviation, "noise")
        assert caps is not None
        require_ticks(sample, caps.uncapped, 1, "a figure takes")
        own, grid = float(operator.epsilon), Grid()
        sections = {_label(one): one for one in (operator, *with_other_caps(operator))}
        epsilons = chosen_epsilons(own, wanted.epsilons)
        grid.add_each(sections, epsilons, partial(_candidate, sections))
        grid.require_some()
        labelled = _label(operator), own, caps.own.ticks
        return cls(file, sample, grid, caps.uncapped, labelled, caps)

    def released(self, candidate: Candidate, secret: Secret, advance: Advance) -> Figures:
        cap = cap_of(candidate.mechanism)
        assert cap is not None
        return self.caps.summed[cap].released(candidate.mechanism, secret, advance)

    def measured(self, candidate: Candidate, runs: Sequence[Figures]) -> AggregateUtility:
        return RealTimeUtility.measured(self.truth, runs)

    def beside(self, runs: int, seed: int) -> Sequence[Beside]:
        return []

    def of_columns(self, report: Report[AggregateUtility]) -> Iterator[str]:
        yield (
            "MAE, MSE: mean over ticks and groups of what a figure errs, and of its square; held: "
            "how many lie within value ± 1.96 standard_error, which knows nothing of what is cut "
            "off."
        )

    def promises(self, report: Report[AggregateUtility]) -> Iterator[str]:
        yield (
            "eps: nats for everything a user contributes in an aligned period of "
            f"{self.caps.own.ticks:,} ticks."
        )
        yield from self.caps.in_words(report)

    def extra(self, report: Report[AggregateUtility]) -> Mapping[str, object]:
        return {**super().extra(report), "caps": self.caps.document(report)}

    def draw(self, report: Report[AggregateUtility], path: Path) -> None:
        self.picture(report).save_real_time(path, self.caps.curves(report))


def _deviation(mechanism: Mechanism) -> float:
    assert isinstance(mechanism, Uniform)
    return sqrt(2.0) * mechanism.sensitivity / in_nats(mechanism.largest_tick)


def _label(operator: UniformOperator) -> str:
    assert operator.contributions is not None
    return f"{operator.kind}, at most {operator.contributions.at_most}"


def _candidate(sections: Mapping[str, UniformOperator], label: str, epsilon: float) -> Candidate:
    changed = sections[label].model_copy(update={"epsilon": epsilon})
    cap, declared = changed.personal_cap, changed.contributions
    assert cap is not None
    assert declared is not None
    settings = {"epsilon": epsilon, "contributions": declared.model_dump(mode="json")}
    return Candidate(changed.kind, epsilon, changed.strategy(), settings, label, cap.ticks)
