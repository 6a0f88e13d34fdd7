"""The whole evaluation of a pipeline that displaces values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fugu.dataflows.base.batches import DeadLetters
from fugu.dataflows.kinds import TemporalOperator
from fugu.dataflows.offline.evaluation.candidates import Candidate, parse_epsilons
from fugu.dataflows.offline.evaluation.evaluation import require_memory
from fugu.dataflows.offline.evaluation.grid import Grid
from fugu.dataflows.offline.evaluation.report import Row
from fugu.dataflows.offline.evaluation.run import released, secret_of
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.offline.evaluation.temporal.displaced import Displaced, displaced
from fugu.dataflows.offline.evaluation.temporal.grid import (
    chosen_rivals,
    configured_epsilon,
    grid_of,
)
from fugu.dataflows.offline.evaluation.temporal.measure import TemporalMeasure
from fugu.dataflows.offline.evaluation.temporal.numbers import Baseline, Numbers, Reading
from fugu.dataflows.offline.evaluation.temporal.report import TemporalReport
from fugu.dataflows.offline.evaluation.times import require_times
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.operators.mechanism import Floats
from fugu.operators.secret import Secret
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation


@dataclass(frozen=True, eq=False)
class TemporalEvaluation:
    """What is compared, over which sample."""

    file: PipelineFile
    operator: TemporalOperator
    sample: Sample
    numbers: Numbers | None
    grid: Grid[Candidate]

    @classmethod
    def planned(
        cls,
        file: PipelineFile,
        sample: Sample,
        epsilons: str | None,
        rivals: str | None,
        reading: Reading,
    ) -> "TemporalEvaluation":
        """What was asked for, or what suits pipeline and sample."""
        operator = file.pipeline.operator
        assert isinstance(operator, TemporalOperator)
        ticks = operator.in_ticks()
        if ticks is not None:
            require_times(file.pipeline, "operator.ticks")
        lists = ticks is not None and ticks.several == "list"
        numbers = None if lists else Numbers.of(sample, reading)
        configured = configured_epsilon(operator)
        wanted = [configured / 2.0, configured, configured * 2.0]
        if epsilons is not None:
            wanted = parse_epsilons(epsilons)
        grid = grid_of(operator, wanted, chosen_rivals(operator, rivals), numbers)
        for candidate in grid.candidates:
            require_memory(file, candidate, sample)
        return cls(file, operator, sample, numbers, grid)

    @property
    def candidates(self) -> Sequence[Candidate]:
        """The rows."""
        return self.grid.candidates

    def report(
        self, runs: int, seed: int, advance: Callable[[int], None] = lambda records: None
    ) -> TemporalReport:
        """Run the grid, all of it under the same secrets; `advance` is told of records done."""
        secrets = [secret_of(seed, run) for run in range(runs)]
        costs = self.operator.costs.of(self.operator.window)
        measure = TemporalMeasure(self.sample, costs, self.numbers)
        own = (self.operator.kind, self.operator.perturbation().law_digest())
        rows: list[Row] = []
        first: Displaced | None = None
        for candidate in self.candidates:
            mechanism = candidate.mechanism
            if isinstance(mechanism, TemporalPerturbation):
                done = [self._displaced(candidate, secret, advance) for secret in secrets]
                first = first or done[0]
                utility = measure.displacing(mechanism, done)
            else:
                assert first is not None
                noisy = [self._changed(candidate, first, secret, advance) for secret in secrets]
                utility = measure.changing(mechanism, first, noisy)
            law = (candidate.kind, mechanism.law_digest())
            rows.append(Row(candidate, law == own, utility))
        return TemporalReport(
            self.file.pipeline,
            self.sample,
            DeadLetters() if first is None else first.dead,
            runs,
            seed,
            rows,
            numbers=self.numbers,
            left_out=self.grid.left_out,
        )

    def _displaced(
        self, candidate: Candidate, secret: Secret, advance: Callable[[int], None]
    ) -> Displaced:
        return displaced(candidate, self.file.pipeline, self.sample, secret, advance)

    def _changed(
        self,
        candidate: Candidate,
        ticks: Displaced,
        secret: Secret,
        advance: Callable[[int], None],
    ) -> Floats:
        """What the baseline makes of the value of each record that counts in some tick."""
        assert isinstance(candidate, Baseline)
        assert self.numbers is not None
        records = np.sort(ticks.held[ticks.held >= 0])
        sample = self.numbers.sample_for(candidate, self.sample, records)
        run = released(candidate, self.file.pipeline, sample, secret, advance)
        values = np.full(self.sample.records, np.nan)
        values[records[run.records]] = run.releases.values
        return values
