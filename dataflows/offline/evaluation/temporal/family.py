"""Evaluate a pipeline that displaces values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from fugu.dataflows.base.batches import DeadLetters
from fugu.dataflows.kinds import TemporalOperator
from fugu.dataflows.offline.evaluation.candidates import Candidate, chosen_epsilons, chosen_rivals
from fugu.dataflows.offline.evaluation.family import Family, Wanted, require_memory
from fugu.dataflows.offline.evaluation.report import Report
from fugu.dataflows.offline.evaluation.run import Advance, released, secret_of
from fugu.dataflows.offline.evaluation.sample import Sample, require_times
from fugu.dataflows.offline.evaluation.temporal.displaced import Displaced, displaced
from fugu.dataflows.offline.evaluation.temporal.grid import configured_epsilon, grid_of
from fugu.dataflows.offline.evaluation.temporal.measure import TemporalMeasure
from fugu.dataflows.offline.evaluation.temporal.notes import notes
from fugu.dataflows.offline.evaluation.temporal.numbers import BASELINES, Numbers, Reading
from fugu.dataflows.offline.evaluation.temporal.utility import TemporalUtility
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.operators.mechanism import Floats, Notion
from fugu.operators.secret import Secret
from fugu.operators.temporal.selection import PREFERENCE
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation


@dataclass(frozen=True, eq=False)
class TemporalFamily(Family[Displaced | Floats, TemporalUtility]):
    """Compare what left with what came; a run of a baseline is what it made of each value."""

    operator: TemporalOperator
    numbers: Numbers | None

    takes: ClassVar = frozenset({"average", "count_above", "value_range"})

    @classmethod
    def planned(cls, file: PipelineFile, sample: Sample, wanted: Wanted) -> Self:
        reading = Reading.of(wanted.average, wanted.count_above, wanted.value_range)
        operator = file.pipeline.operator
        assert isinstance(operator, TemporalOperator)
        ticks = operator.in_ticks()
        if ticks is not None:
            require_times(file.pipeline, "operator.ticks")
        lists = ticks is not None and ticks.several == "list"
        numbers = None if lists else Numbers.of(sample, reading)
        epsilons = chosen_epsilons(configured_epsilon(operator), wanted.epsilons)
        known = [*PREFERENCE, *BASELINES]
        rivals = chosen_rivals(operator.kind, wanted.rivals, known, own_too=True)
        grid = grid_of(operator, epsilons, rivals, numbers)
        for candidate in grid.candidates:
            require_memory(file, candidate, sample)
        return cls(file, sample, grid, operator, numbers)

    def configured(self, candidate: Candidate) -> bool:
        law = candidate.kind, candidate.mechanism.law_digest()
        return law == (self.operator.kind, self.operator.perturbation().law_digest())

    @cached_property
    def _ticks(self) -> Displaced:
        """Run the first candidate: which records count in which ticks is the same for all."""
        own, nobody = self.grid.candidates[0], secret_of(0, 0)
        return displaced(own, self.file.pipeline, self.sample, nobody)

    def released(
        self, candidate: Candidate, secret: Secret, advance: Advance
    ) -> Displaced | Floats:
        pipeline = self.file.pipeline
        if self.numbers is None or isinstance(candidate.mechanism, TemporalPerturbation):
            return displaced(candidate, pipeline, self.sample, secret, advance)
        held = self._ticks.held
        records = np.sort(held[held >= 0])
        sample = self.numbers.sample_for(candidate, self.sample, records)
        run = released(candidate, pipeline, sample, secret, advance)
        values = np.full(self.sample.records, np.nan)
        values[records[run.records]] = run.releases.values
        return values

    def refused(self, first: Displaced | Floats) -> DeadLetters:
        assert isinstance(first, Displaced)
        return first.dead

    def measured(self, candidate: Candidate, runs: Sequence[Displaced | Floats]) -> TemporalUtility:
        costs = self.operator.costs.of(self.operator.window)
        measure = TemporalMeasure(self.sample, costs, self.numbers)
        if isinstance(candidate.mechanism, TemporalPerturbation):
            moved = [run for run in runs if isinstance(run, Displaced)]
            return measure.displacing(candidate.mechanism, moved)
        changed = [run for run in runs if not isinstance(run, Displaced)]
        return measure.changing(candidate.mechanism, self._ticks, changed)

    def notions(self, report: Report[TemporalUtility]) -> tuple[Notion, ...]:
        return ("delay-law",)

    def notes(self, report: Report[TemporalUtility]) -> Iterator[str]:
        return notes(self.operator, report, self.numbers, self.grid.left_out)

    def extra(self, report: Report[TemporalUtility]) -> Mapping[str, object]:
        numbers, read = self.numbers, None
        if numbers is not None:
            bounds = numbers.reading.value_range
            read = {
                "average": numbers.reading.average,
                "count_above": numbers.counted_from,
                "range": None if bounds is None else [float(bound) for bound in bounds],
            }
        return {"numbers": read, "left_out": self.grid.left_out}

    def draw(self, report: Report[TemporalUtility], path: Path) -> None:
        from fugu.dataflows.offline.evaluation.over_nats import save_over_nats

        save_over_nats(report, path)
