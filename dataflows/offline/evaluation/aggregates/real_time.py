"""Evaluate a real-time release of figures: its filters, strategies in one window, simulations.

All ticks of the sample lie in the window of a strategy, so that its epsilon is for everything a
user contributes, too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from fugu.dataflows.kinds import RealTimeOperator, strategy_of
from fugu.dataflows.kinds.families.series_budget import FixedWeight, ModelFilter
from fugu.dataflows.offline.evaluation.aggregates.family import GUESS
from fugu.dataflows.offline.evaluation.aggregates.figures import Figures
from fugu.dataflows.offline.evaluation.aggregates.simulated import SIMULATED, Promise, SimulatedRow
from fugu.dataflows.offline.evaluation.aggregates.under_caps import CapsFamily
from fugu.dataflows.offline.evaluation.aggregates.utility import (
    ESTIMATES,
    AggregateUtility,
    RealTimeUtility,
    error_cells,
)
from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.estimates import NOTHING, Estimate
from fugu.dataflows.offline.evaluation.report import Beside, Report
from fugu.dataflows.offline.evaluation.run import Advance
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.operators.mechanism import Mechanism
from fugu.operators.randomness import Secret
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.realtime.shaped_release import ShapedRelease
from fugu.operators.wevent.binary_tree import BinaryTree

_WEIGHTS = (0.1, 0.3, 0.6)
_IN_ONE_WINDOW = ("uniform", "budget_distribution", "budget_absorption", BinaryTree.kind)
_FILTERS = ("adaptive", "weight", "baseline")
RIVALS = (*_FILTERS, *_IN_ONE_WINDOW, *SIMULATED)


@dataclass(frozen=True, eq=False)
class RealTimeFamily(CapsFamily[RealTimeOperator]):
    """Compare estimates of series; rivals may be simulations."""

    known_rivals: ClassVar = RIVALS
    settings: ClassVar = frozenset(
        {"epsilon", "delta", "horizon", "period", "decay", "filter", "presentation"}
    )
    least: ClassVar = (2, "a series has at least")
    noise: ClassVar = "noise before the filter"

    @classmethod
    def section_of(cls, file: PipelineFile) -> tuple[RealTimeOperator, float]:
        operator = file.pipeline.operator
        assert isinstance(operator, RealTimeOperator)
        return operator, float(operator.epsilon)

    @classmethod
    def mechanism(cls, operator: RealTimeOperator) -> Mechanism:
        return operator.shaped or operator.release()

    @classmethod
    def deviation(cls, mechanism: Mechanism) -> float:
        assert isinstance(mechanism, RealTimeRelease | ShapedRelease)
        return mechanism.noise_deviation

    @classmethod
    def window(cls, operator: RealTimeOperator, ticks: int) -> int:
        cap = operator.personal_cap
        return (operator.period or ticks) if cap is None else cap.ticks

    @classmethod
    def label(cls, operator: RealTimeOperator) -> str:
        match operator.filter:
            case FixedWeight(weight=float() as weight):
                return f"weight {weight:g}"
            case FixedWeight():
                return "weights in turn"
            case ModelFilter():
                return "model"
            case word:
                return word

    @classmethod
    def variants(
        cls, operator: RealTimeOperator, rivals: Sequence[str]
    ) -> Iterator[RealTimeOperator]:
        for name in (name for name in rivals if name in _FILTERS):
            weights = [FixedWeight(weight=weight) for weight in _WEIGHTS]
            for chosen in weights if name == "weight" else [name]:
                yield operator.model_copy(update={"filter": chosen})

    @classmethod
    def of_other_kinds(
        cls, operator: RealTimeOperator, ticks: int
    ) -> Mapping[str, Callable[[float], Candidate]]:
        return {kind: partial(_strategy, operator, ticks, kind) for kind in _IN_ONE_WINDOW}

    def released(self, candidate: Candidate, secret: Secret, advance: Advance) -> Figures:
        """Take single ticks from running totals; their standard errors are not those of totals."""
        found = super().released(candidate, secret, advance)
        if not isinstance(candidate.mechanism, BinaryTree):
            return found
        values = np.diff(found.values, axis=0, prepend=0)
        return Figures(values, found.published, np.full(values.shape, np.nan))

    def beside(self, runs: int, seed: int) -> Sequence[Beside]:
        epsilons = dict.fromkeys(one.epsilon for one in self.grid.candidates)
        figures, rows = self.truth.figures.astype(np.float64), list[Beside]()
        for rival in (SIMULATED[name] for name in self.rivals if name in SIMULATED):
            for epsilon in epsilons:
                generators = [np.random.default_rng([seed, run]) for run in range(runs)]
                promise = Promise(self.operator, epsilon)
                done = [rival.figures(figures, promise, rng) for rng in generators]
                utility = RealTimeUtility.measured(self.truth, done)
                rows.append(SimulatedRow(rival.label, utility.tables(), epsilon, rival, utility))
        cells = error_cells(self._guess_of_series, self.truth.constant_guess())
        guess = {ESTIMATES: {**cells, "held": NOTHING, "new": NOTHING}}
        return [*rows, Beside(GUESS, guess, None)]

    def promises(self, report: Report[AggregateUtility]) -> Iterator[str]:
        operator, ticks = self.operator, self.summed.ticks
        everything = f"eps: nats, with delta {operator.delta:g}, for everything a user contributes"
        if self.caps is not None:
            yield f"{everything} in an aligned period of {self.caps.own.ticks:,} ticks."
            yield (
                f"rivals without a cap keep eps over all {ticks:,} ticks of the sample, for "
                "everything a user contributes."
            )
            yield from self.caps.in_words(report)
            return
        if operator.period is not None:
            yield f"{everything} to any {operator.period:,} ticks in a row."
            if operator.period < ticks:
                yield (
                    f"rivals below the filters keep eps over all {ticks:,} ticks of the sample, "
                    "and so promise more than the filters do."
                )
            return
        yield f"{everything} to all ticks. Strategies for windows have no delta."
        horizon = operator.horizon
        if operator.decay is not None:
            yield (
                f"filters share it among all ticks that will ever come (operator.decay), rivals "
                f"among the {ticks:,} ticks of the sample."
            )
        elif horizon is not None and horizon > ticks:
            yield (
                f"operator.horizon is {horizon:,}, and the sample closes {ticks:,} ticks: filters "
                "keep the rest of their budget, rivals spend all of theirs. Set horizon to the "
                "ticks of the sample to compare them as equals."
            )
        elif horizon is not None and horizon < ticks:
            yield (
                f"operator.horizon is {horizon:,}, and the sample closes {ticks:,} ticks: later "
                "ones are predicted only, while rivals share theirs among all. Set horizon to the "
                "ticks that you will publish."
            )

    def of_columns(self, report: Report[AggregateUtility]) -> Iterator[str]:
        """Say how errors are measured, and what rivals are."""
        yield (
            "RE: the root of the sum of squared errors, divided by the number of ticks and by the "
            "largest true figure; the mean of all groups. MAE, MSE: mean over ticks and groups of "
            "what a figure errs, and of its square."
        )
        yield (
            "held: how many figures lie within value ± 1.96 standard_error, where one is said. It "
            "counts ticks and is an average: bars hold less right after a step and at spikes, and "
            "more elsewhere. Those of strategies are about noise alone, not about what changed "
            "since. new: ticks with a new noisy value; others repeat or predict."
        )
        yield from self._of_rivals(report)
        yield self.of_guess()

    def _of_rivals(self, report: Report[AggregateUtility]) -> Iterator[str]:
        """Say what can be run, and what only looks at the true data."""
        operator, ticks = self.operator, self.summed.ticks
        kinds = dict.fromkeys(row.candidate.kind for row in report.rows)
        strategies = ", ".join(kind for kind in kinds if kind != operator.kind)
        if strategies:
            yield (
                f"{strategies}: run with window: {ticks:,}. uniform is Laplace noise "
                "at every tick; binary_tree publishes totals, of which these are the differences."
            )
        simulated = [one.rival for one in report.beside if isinstance(one, SimulatedRow)]
        if any(rival.name == "normal" for rival in simulated):
            yield (
                "normal (simulated): Gaussian noise at every tick, with the exact account of "
                "continuous noise. No computer draws that; baseline is what can be run."
            )
        oracles = [rival.label for rival in dict.fromkeys(simulated) if rival.uses_true_data]
        if oracles:
            yield (
                f"{', '.join(oracles)}: simulated, with the parameter that errs least, chosen by "
                "looking at the true figures. Nobody can run that and keep eps: it bounds what "
                "FAST (Laplace noise and a filter, at every tick) and Fourier perturbation (dft) "
                "could do. offline: it also needs the whole series first; online_dft each tenth."
            )
        if operator.presentation != "none":
            yield (
                f"only filters are presented as operator.presentation says "
                f"({operator.presentation}); rivals are as they come."
            )

    def extra(self, report: Report[AggregateUtility]) -> Mapping[str, object]:
        simulated = [one for one in report.beside if isinstance(one, SimulatedRow)]
        return {**super().extra(report), "simulated": [one.document() for one in simulated]}

    def guess_document(self) -> dict[str, object]:
        """Add the error of a whole series."""
        return {**super().guess_document(), "relative_error": self._guess_of_series.value}

    @property
    def _guess_of_series(self) -> Estimate:
        return self.truth.error_of_series([self.truth.constant()])


def _strategy(operator: RealTimeOperator, ticks: int, kind: str, epsilon: float) -> Candidate:
    shape = operator.group_count, ticks, epsilon, operator.sensitivity
    settings: dict[str, object] = {"epsilon": epsilon, "window": ticks}
    if kind == BinaryTree.kind:
        tree, settings["horizon"] = BinaryTree(*shape, horizon=ticks), ticks
        return Candidate(kind, epsilon, tree, settings, kind, ticks)
    return Candidate(kind, epsilon, strategy_of(kind)(*shape), settings, kind, ticks)
