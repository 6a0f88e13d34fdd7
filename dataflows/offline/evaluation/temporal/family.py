"""Evaluate a pipeline that displaces values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from fugu.dataflows.base.batches import DeadLetters
from fugu.dataflows.kinds import TemporalOperator
from fugu.dataflows.offline.evaluation.candidates import Candidate, chosen_epsilons, chosen_rivals
from fugu.dataflows.offline.evaluation.family import CONFIGURED, Family, Wanted, require_memory
from fugu.dataflows.offline.evaluation.report import Report
from fugu.dataflows.offline.evaluation.run import Advance, released, secret_of
from fugu.dataflows.offline.evaluation.sample import Sample, require_times
from fugu.dataflows.offline.evaluation.temporal.displaced import Displaced, displaced
from fugu.dataflows.offline.evaluation.temporal.grid import configured_epsilon, grid_of
from fugu.dataflows.offline.evaluation.temporal.measure import TemporalMeasure
from fugu.dataflows.offline.evaluation.temporal.numbers import BASELINES, Numbers, Reading
from fugu.dataflows.offline.evaluation.temporal.utility import TemporalUtility
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.operators.mechanism import Floats, Notion
from fugu.operators.secret import Secret
from fugu.operators.temporal.costs import Costs
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

    @property
    def _costs(self) -> Costs:
        return self.operator.costs.of(self.operator.window)

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
        measure = TemporalMeasure(self.sample, self._costs, self.numbers)
        if isinstance(candidate.mechanism, TemporalPerturbation):
            moved = [run for run in runs if isinstance(run, Displaced)]
            return measure.displacing(candidate.mechanism, moved)
        changed = [run for run in runs if not isinstance(run, Displaced)]
        return measure.changing(candidate.mechanism, self._ticks, changed)

    def notions(self, report: Report[TemporalUtility]) -> tuple[Notion, ...]:
        return ("delay-law",)

    def notes(self, report: Report[TemporalUtility]) -> Iterator[str]:
        costs = self._costs
        yield (
            "eps limits how much more likely one delay of a value may be than another: at most "
            "exp(eps / 2) times. law: what the law of visible delays really has, never more than "
            "eps; by default rivals get what the pipeline's own law has. Values are published as "
            "they are: this is no ldp, and fugu explain says what it leaves open."
        )
        if any(row.configured for row in report.rows):
            yield CONFIGURED
        if not all(row.candidate.sound for row in report.rows):
            yield "! promises nothing: with operator.start: cold, early delays have another law."
        if self.operator.kind == "temporal_perturbation":
            yield "the first rows are what temporal_perturbation chooses at each eps, by its costs."
        yield (
            "missing and repeated are shares of values, empty of ticks (those to which nothing "
            "came are empty too); delay: ticks per value until it first leaves, 0 if it never "
            f"does. total: with costs of {costs.missing:g}, {costs.repeated:g} and "
            f"{costs.empty:g} each, and {costs.delay:g} for a tick (operator.costs). A smaller "
            "total is the better operator, of those with the same eps."
        )
        yield from self._of_numbers(report)
        yield from self.grid.left_out
        if self.operator.warm_up == "suppress":
            yield (
                "the first window of each epoch is measured too, which this pipeline does not "
                "publish (operator.warm_up): what leaves in it is lost, and a count is short by it."
            )

    def _of_numbers(self, report: Report[TemporalUtility]) -> Iterator[str]:
        numbers = self.numbers
        if numbers is None:
            yield (
                "not all payloads are single numbers: there are no counts and averages to compare, "
                "and no operators that would change values. These are the costs only."
            )
            return
        share = numbers.above.sum() / np.count_nonzero(~np.isnan(numbers.values))
        yield (
            f"running count: values above {numbers.counted_from:g} ({share:.0%} of all; "
            "--count-above), an empty tick adds nothing. filled: divided by the share of ticks "
            "that hold a value (grr: debiased). moved: that, compared with the true count at the "
            "mean delay earlier. All of that is known to readers."
        )
        yield (
            f"moving average: of the last {numbers.reading.average} ticks (--average), empty ones "
            "left out. moved: compared with the true one lag ticks earlier."
        )
        if any(row.candidate.kind in BASELINES for row in report.rows):
            yield (
                "eps/2: these change values and not their ticks, with ldp of half of eps for every "
                "value, so that two values which change places cost eps."
            )

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
