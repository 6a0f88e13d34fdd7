"""Evaluate running totals: caps, noise on each tick, and a tree of noisy sums, all promising alike.

Compared are totals since the sample begins. Under caps, errors are against totals without one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Self

import numpy as np

from fugu.dataflows.kinds.running_total import RunningTotalOperator
from fugu.dataflows.offline.evaluation.aggregates.caps import Caps, with_other_caps
from fugu.dataflows.offline.evaluation.aggregates.family import AggregateFamily, require_ticks
from fugu.dataflows.offline.evaluation.aggregates.figures import Figures, Summed
from fugu.dataflows.offline.evaluation.aggregates.utility import (
    AggregateUtility,
    RealTimeUtility,
    Truth,
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
from fugu.operators.mechanism import Integers, Mechanism
from fugu.operators.personal_cap import cap_of
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.secret import Secret
from fugu.operators.totals.running_total import RunningTotal
from fugu.operators.wevent.binary_tree import BinaryTree

EACH_TICK = "each_tick"
RIVALS = (EACH_TICK, BinaryTree.kind)


@dataclass(frozen=True, eq=False)
class TotalsFamily(AggregateFamily):
    """Compare running totals that promise the same."""

    operator: RunningTotalOperator
    caps: Caps[RunningTotalOperator] | None

    @classmethod
    def planned(cls, file: PipelineFile, sample: Sample, wanted: Wanted) -> Self:
        operator = file.pipeline.operator
        assert isinstance(operator, RunningTotalOperator)
        require_times(file.pipeline, "operator.ticks")
        rivals = chosen_rivals(operator.kind, wanted.rivals, RIVALS)
        epsilons = chosen_epsilons(float(operator.epsilon), wanted.epsilons)
        caps = Caps.of(file, operator, sample, _deviation, "noise of a total", _added_up)
        summed = Summed.of(file.pipeline, operator, sample) if caps is None else caps.uncapped
        require_ticks(sample, summed, 1, "a total takes")
        sections = {_label(one): one for one in (operator, *with_other_caps(operator))}
        grid = Grid()
        grid.add_each(sections, epsilons, partial(_own, sections))
        grid.require_some()
        others = partial(_rival, operator, summed.ticks)
        grid.add_each(rivals, epsilons, others)
        own = _label(operator), float(operator.epsilon), _window(operator)
        return cls(file, sample, grid, summed, own, operator, caps)

    @cached_property
    def truth(self) -> Truth:
        figures = Truth.of(self.summed)
        return replace(figures, figures=_added_up(figures.figures))

    def released(self, candidate: Candidate, secret: Secret, advance: Advance) -> Figures:
        mechanism, cap = candidate.mechanism, cap_of(candidate.mechanism)
        summed = self.summed if self.caps is None or cap is None else self.caps.summed[cap]
        found = summed.released(mechanism, secret, advance)
        if not isinstance(mechanism, RealTimeRelease):
            return found
        noise = np.sqrt(np.cumsum(found.noise**2, axis=0))
        return Figures(np.cumsum(found.values, axis=0), found.published, noise)

    def measured(self, candidate: Candidate, runs: Sequence[Figures]) -> AggregateUtility:
        return RealTimeUtility.measured(self.truth, runs)

    def beside(self, runs: int, seed: int) -> Sequence[Beside]:
        return []

    def promises(self, report: Report[AggregateUtility]) -> Iterator[str]:
        operator, ticks = self.operator, self.summed.ticks
        cap = operator.personal_cap
        if cap is not None:
            extent = (
                f"for everything a user contributes in an aligned period of {cap.ticks:,} ticks"
            )
        elif operator.window is not None:
            extent = f"for what a user contributes to any {operator.window:,} ticks in a row"
        else:
            extent = "for everything a user contributes"
        yield f"eps: nats, with delta {operator.delta:g}, {extent}."
        if operator.horizon is not None and operator.horizon != ticks:
            yield (
                f"operator.horizon is {operator.horizon:,}, and the sample closes {ticks:,} ticks: "
                "noise is for the horizon."
            )
        if any(row.candidate.kind == BinaryTree.kind for row in report.rows):
            yield (
                "binary_tree has no delta, and so promises a little more; under contributions it "
                "has no cap, and its window is a period."
            )
        if self.caps is not None:
            yield from self.caps.in_words(report)

    def of_columns(self, report: Report[AggregateUtility]) -> Iterator[str]:
        yield (
            "MAE, MSE: mean over ticks and groups of what a total errs, and of its square; held: "
            "how many lie within value ± 1.96 standard_error."
        )
        if any(row.candidate.name == EACH_TICK for row in report.rows):
            yield (
                f"{EACH_TICK}: Gaussian noise on every tick (real_time with filter: baseline), "
                "whose figures a reader adds up."
            )

    def extra(self, report: Report[AggregateUtility]) -> Mapping[str, object]:
        found = super().extra(report)
        return found if self.caps is None else {**found, "caps": self.caps.document(report)}

    def draw(self, report: Report[AggregateUtility], path: Path) -> None:
        curves = {} if self.caps is None else self.caps.curves(report)
        self.picture(report).save_real_time(path, curves)


def _added_up(figures: Integers) -> Integers:
    return np.cumsum(figures, axis=0)


def _deviation(mechanism: Mechanism) -> float:
    assert isinstance(mechanism, RunningTotal)
    return mechanism.error


def _label(operator: RunningTotalOperator) -> str:
    declared = operator.contributions
    return operator.kind if declared is None else f"{operator.kind}, at most {declared.at_most}"


def _window(operator: RunningTotalOperator) -> int:
    """Return how many ticks the promise is about."""
    cap = operator.personal_cap
    extent = operator.window or operator.horizon if cap is None else cap.ticks
    assert extent is not None
    return extent


def _own(sections: Mapping[str, RunningTotalOperator], label: str, epsilon: float) -> Candidate:
    section = sections[label].model_copy(update={"epsilon": epsilon})
    names = {"epsilon", "delta", "horizon", "window"}
    settings = section.model_dump(include=names, exclude_none=True)
    if section.contributions is not None:
        settings["contributions"] = section.contributions.model_dump(mode="json")
    return Candidate(section.kind, epsilon, section.release(), settings, label, _window(section))


def _rival(operator: RunningTotalOperator, ticks: int, kind: str, epsilon: float) -> Candidate:
    window = _window(operator)
    settings: dict[str, object] = {"epsilon": epsilon, "window": window}
    if kind == BinaryTree.kind:
        horizon = max(ticks, operator.horizon or ticks)
        shape = operator.group_count, min(window, horizon), epsilon, operator.sensitivity
        tree = BinaryTree(*shape, horizon=horizon)
        return Candidate(kind, epsilon, tree, settings, kind, window)
    cap = operator.personal_cap
    whole = operator.horizon == window
    release = RealTimeRelease(
        operator.group_count,
        operator.bin_sensitivity,
        operator.changed_bins,
        epsilon,
        float(operator.delta),
        horizon=window if cap is None and whole else None,
        period=window if cap is None and not whole else None,
        weight=1.0,
        personal_cap=cap,
        **operator.told,
    )
    return Candidate("real_time", epsilon, release, settings, EACH_TICK, window)
