"""Evaluate a pipeline that displaces values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, log10
from typing import ClassVar, Self

import numpy as np

from fugu.dataflows.base.batches import DeadLetters
from fugu.dataflows.kinds import TemporalOperator, as_kind
from fugu.dataflows.offline.evaluation.candidates import (
    Candidate,
    Grid,
    chosen_epsilons,
    chosen_rivals,
)
from fugu.dataflows.offline.evaluation.family import CONFIGURED, Family, Wanted, require_memory
from fugu.dataflows.offline.evaluation.ranking import Guess
from fugu.dataflows.offline.evaluation.report import Report
from fugu.dataflows.offline.evaluation.run import Advance, released, secret_of
from fugu.dataflows.offline.evaluation.sample import Sample, require_times
from fugu.dataflows.offline.evaluation.temporal.displaced import Displaced, displaced
from fugu.dataflows.offline.evaluation.temporal.measure import TemporalMeasure
from fugu.dataflows.offline.evaluation.temporal.numbers import (
    AVERAGE,
    BASELINES,
    Numbers,
    Reading,
    read_range,
)
from fugu.dataflows.offline.evaluation.temporal.utility import TemporalUtility
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.operators.guarantee import Notion
from fugu.operators.mechanism import Floats
from fugu.operators.randomness import Secret
from fugu.operators.temporal.dispatch_law import Costs
from fugu.operators.temporal.selection import PREFERENCE
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from fugu.operators.temporal.threshold import ExtendedThresholdPerturbation

_SUFFIX = "_perturbation"
_SHOWN = {"c0": "threshold", "accepted": "acceptance", "calibrate": "calibrate"}


@dataclass(frozen=True, eq=False)
class TemporalFamily(Family[Displaced | Floats, TemporalUtility]):
    """Compare what left with what came; a run of a baseline is what it made of each value."""

    operator: TemporalOperator
    numbers: Numbers | None

    takes: ClassVar = frozenset({"average", "count_above", "value_range"})

    @classmethod
    def planned(cls, file: PipelineFile, sample: Sample, wanted: Wanted) -> Self:
        value_range = None if wanted.value_range is None else read_range(wanted.value_range)
        average = AVERAGE if wanted.average is None else wanted.average
        reading = Reading(average, wanted.count_above, value_range)
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

    @property
    def _measure(self) -> TemporalMeasure:
        ticks = self.operator.in_ticks()
        width = None if ticks is None else ticks.width
        return TemporalMeasure(self.sample, self._costs, self.numbers, width)

    def constant_guess(self) -> Guess | None:
        """Return what the median errs, which is the best constant; None without numbers."""
        if self.numbers is None:
            return None
        return Guess(
            "the median of all values",
            self._measure.guess(self._ticks),
            "Values change faster than they leave: take a larger epsilon or a shorter window, and "
            "read averages over a window and more",
        )

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
        measure = self._measure
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
            "value of a tick: the last one that left, compared with the one that came at that "
            "tick. Late values count as wrong as they are. Rows are ranked by it."
        )
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


def configured_epsilon(operator: TemporalOperator) -> float:
    """Return that of the law that is drawn, rounded up to three digits: rivals get as much.

    Of a law that is uniform, return the declared one.
    """
    law = operator.perturbation().delay_law_epsilon
    if law == 0.0:
        return float(operator.epsilon or 0.0)
    decimals = 2 - floor(log10(law))
    return round(ceil(law * 10.0**decimals - 1e-6) / 10.0**decimals, decimals)


def grid_of(
    operator: TemporalOperator,
    epsilons: Sequence[float],
    rivals: Sequence[str],
    numbers: Numbers | None,
) -> Grid:
    """Take the own operator first, then its rivals, each with every epsilon it takes.

    Of candidates with the same law the first one stands for all.
    """
    grid = Grid()
    kinds = (operator.kind, *(kind for kind in PREFERENCE if kind in rivals))
    named = {kind.removesuffix(_SUFFIX): kind for kind in kinds}
    grid.add_each(named, epsilons, lambda name, eps: _displacing(operator, named[name], eps))
    laws = {(one.mechanism.law_digest(), one.epsilon): one for one in reversed(grid.candidates)}
    grid.candidates[:] = [one for one in grid.candidates if one in laws.values()]
    grid.require_some()
    if numbers is not None:
        grid.add_each((kind for kind in BASELINES if kind in rivals), epsilons, numbers.baseline)
    return grid


def _displacing(operator: TemporalOperator, kind: str, epsilon: float) -> Candidate:
    """Name the mechanism, even if the section leaves the choice to costs."""
    mechanism = _spending(operator, kind, epsilon).perturbation()
    plain = isinstance(mechanism, ExtendedThresholdPerturbation) and mechanism.accepted == 1.0
    if plain and kind != operator.kind:
        raise ValueError("it drops nothing, and is threshold")
    found = {key: getattr(mechanism, name, None) for name, key in _SHOWN.items()}
    settings = {
        "kind": mechanism.kind,
        "window": mechanism.k,
        **{key: value for key, value in found.items() if value is not None},
    }
    return Candidate(kind, epsilon, mechanism, settings, mechanism.kind.removesuffix(_SUFFIX))


def _spending(operator: TemporalOperator, kind: str, epsilon: float) -> TemporalOperator:
    """Treat every epsilon but the pipeline's own as an upper bound of what the law has."""
    own = kind == operator.kind
    if own and epsilon == configured_epsilon(operator):
        return operator
    changed: dict[str, object] = {
        "epsilon": epsilon,
        "threshold": None,
        "acceptance": None,
        "calibrate": "visible",
    }
    if not own:
        changed |= {"require": []}
    made: TemporalOperator = as_kind(operator, kind, **changed)
    return made
