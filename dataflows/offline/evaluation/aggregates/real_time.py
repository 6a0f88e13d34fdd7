"""The whole evaluation of a real-time release of figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fugu.dataflows.kinds import RealTimeOperator
from fugu.dataflows.offline.evaluation.aggregates.evaluation import chosen_epsilons, require_ticks
from fugu.dataflows.offline.evaluation.aggregates.figures import Figures, Summed
from fugu.dataflows.offline.evaluation.aggregates.grid import chosen_rivals
from fugu.dataflows.offline.evaluation.aggregates.real_time_grid import (
    RIVALS,
    RealTimeCandidate,
    label_of,
    real_time_grid,
)
from fugu.dataflows.offline.evaluation.aggregates.real_time_report import (
    RealTimeReport,
    SimulatedRow,
)
from fugu.dataflows.offline.evaluation.aggregates.real_time_utility import RealTimeUtility
from fugu.dataflows.offline.evaluation.aggregates.report import AggregateRow
from fugu.dataflows.offline.evaluation.aggregates.simulated import SIMULATED, Promise
from fugu.dataflows.offline.evaluation.aggregates.utility import Truth
from fugu.dataflows.offline.evaluation.grid import Grid
from fugu.dataflows.offline.evaluation.run import secret_of
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.offline.evaluation.times import require_times
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.operators.wevent.binary_tree import BinaryTree

_FEWEST_TICKS = 2


@dataclass(frozen=True, eq=False)
class RealTimeEvaluation:
    """What is compared, over which sample; `rivals` are names, of simulations too."""

    file: PipelineFile
    operator: RealTimeOperator
    sample: Sample
    summed: Summed
    grid: Grid[RealTimeCandidate]
    rivals: Sequence[str]

    @classmethod
    def planned(
        cls, file: PipelineFile, sample: Sample, epsilons: str | None, rivals: str | None
    ) -> "RealTimeEvaluation":
        """What was asked for, or what suits the pipeline; all records are summed already."""
        operator = file.pipeline.operator
        assert isinstance(operator, RealTimeOperator)
        require_times(file.pipeline, "operator.ticks")
        chosen = chosen_rivals(operator.kind, rivals, RIVALS)
        wanted = chosen_epsilons(float(operator.epsilon), epsilons)
        summed = Summed.of(file.pipeline, operator, sample)
        require_ticks(sample, summed, _FEWEST_TICKS, "a series has at least")
        grid = real_time_grid(operator, wanted, summed.ticks, chosen)
        return cls(file, operator, sample, summed, grid, chosen)

    @property
    def steps(self) -> int:
        """Ticks of one run of all candidates; simulations take no time beside them."""
        return len(self.grid.candidates) * self.summed.ticks

    def report(
        self, runs: int, seed: int, advance: Callable[[int], None] = lambda ticks: None
    ) -> RealTimeReport:
        """Run everything under the same secrets and seeds; `advance` is told of ticks done."""
        truth, own = Truth.of(self.summed), (label_of(self.operator), self.operator.epsilon)
        rows = []
        for candidate in self.grid.candidates:
            secrets = [secret_of(seed, run) for run in range(runs)]
            done = [self.summed.released(candidate.mechanism, one, advance) for one in secrets]
            if isinstance(candidate.mechanism, BinaryTree):
                done = [_of_ticks(totals) for totals in done]
            configured = (candidate.label, candidate.epsilon) == own
            utility = RealTimeUtility.measured(truth, done)
            rows.append(AggregateRow(candidate, configured, utility))
        return RealTimeReport(
            self.file.pipeline,
            self.sample,
            self.summed.dead,
            runs,
            seed,
            rows=rows,
            summed=self.summed,
            truth=truth,
            left_out=self.grid.left_out,
            operator=self.operator,
            simulated=self._simulated(truth, runs, seed),
        )

    def _simulated(self, truth: Truth, runs: int, seed: int) -> list[SimulatedRow]:
        """At the epsilons that the pipeline takes."""
        epsilons = dict.fromkeys(one.epsilon for one in self.grid.candidates)
        figures, rows = truth.figures.astype(np.float64), []
        for rival in (SIMULATED[name] for name in self.rivals if name in SIMULATED):
            for epsilon in epsilons:
                generators = [np.random.default_rng([seed, run]) for run in range(runs)]
                promise = Promise(self.operator, epsilon)
                done = [rival.figures(figures, promise, rng) for rng in generators]
                rows.append(SimulatedRow(rival, epsilon, RealTimeUtility.measured(truth, done)))
        return rows


def _of_ticks(totals: Figures) -> Figures:
    """What running totals say of single ticks; their standard errors are not those of totals."""
    values = np.diff(totals.values, axis=0, prepend=0)
    return Figures(values, totals.published, np.full(values.shape, np.nan))
