"""Evaluate running totals: caps, noise on each tick, and a tree of noisy sums, all promising alike.

Compared are totals since the sample begins. Under caps, errors are against totals without one.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from fugu.dataflows.kinds.running_total import RunningTotalOperator
from fugu.dataflows.offline.evaluation.aggregates.figures import Figures
from fugu.dataflows.offline.evaluation.aggregates.under_caps import CapsFamily
from fugu.dataflows.offline.evaluation.aggregates.utility import AggregateUtility, Truth
from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.report import Report
from fugu.dataflows.offline.evaluation.run import Advance
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.operators.mechanism import Integers, Mechanism
from fugu.operators.randomness import Secret
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.totals.running_total import RunningTotal
from fugu.operators.wevent.binary_tree import BinaryTree

EACH_TICK = "each_tick"
RIVALS = (EACH_TICK, BinaryTree.kind)


@dataclass(frozen=True, eq=False)
class TotalsFamily(CapsFamily[RunningTotalOperator]):
    """Compare running totals that promise the same."""

    known_rivals: ClassVar = RIVALS
    settings: ClassVar = frozenset({"epsilon", "delta", "horizon", "window"})
    least: ClassVar = (1, "a total takes")
    noise: ClassVar = "noise of a total"

    @classmethod
    def section_of(cls, file: PipelineFile) -> tuple[RunningTotalOperator, float]:
        operator = file.pipeline.operator
        assert isinstance(operator, RunningTotalOperator)
        return operator, float(operator.epsilon)

    @classmethod
    def mechanism(cls, operator: RunningTotalOperator) -> Mechanism:
        return operator.release()

    @classmethod
    def deviation(cls, mechanism: Mechanism) -> float:
        assert isinstance(mechanism, RunningTotal)
        return mechanism.error

    @classmethod
    def window(cls, operator: RunningTotalOperator, ticks: int) -> int:
        cap = operator.personal_cap
        extent = operator.window or operator.horizon if cap is None else cap.ticks
        assert extent is not None
        return extent

    @classmethod
    def compared(cls, figures: Integers) -> Integers:
        """Return totals since the sample begins."""
        return np.cumsum(figures, axis=0)

    @classmethod
    def of_other_kinds(
        cls, operator: RunningTotalOperator, ticks: int
    ) -> Mapping[str, Callable[[float], Candidate]]:
        window = cls.window(operator, ticks)
        return {
            BinaryTree.kind: partial(_tree, operator, ticks, window),
            EACH_TICK: partial(_each_tick, operator, window),
        }

    @cached_property
    def truth(self) -> Truth:
        figures = Truth.of(self.summed)
        return replace(figures, figures=self.compared(figures.figures))

    def released(self, candidate: Candidate, secret: Secret, advance: Advance) -> Figures:
        """Add up the figures of ticks that are released one by one."""
        found = super().released(candidate, secret, advance)
        if not isinstance(candidate.mechanism, RealTimeRelease):
            return found
        noise = np.sqrt(np.cumsum(found.noise**2, axis=0))
        return Figures(np.cumsum(found.values, axis=0), found.published, noise)

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


def _tree(operator: RunningTotalOperator, ticks: int, window: int, epsilon: float) -> Candidate:
    horizon = max(ticks, operator.horizon or ticks)
    shape = operator.group_count, min(window, horizon), epsilon, operator.sensitivity
    tree = BinaryTree(*shape, horizon=horizon)
    settings: dict[str, object] = {"epsilon": epsilon, "window": window}
    return Candidate(tree.kind, epsilon, tree, settings, tree.kind, window)


def _each_tick(operator: RunningTotalOperator, window: int, epsilon: float) -> Candidate:
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
    settings: dict[str, object] = {"epsilon": epsilon, "window": window}
    return Candidate("real_time", epsilon, release, settings, EACH_TICK, window)
