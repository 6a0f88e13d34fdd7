"""Evaluate operators that release symbols or numbers, record by record."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

from fugu.dataflows.base.batches import DeadLetters
from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.kinds import AlphabetOperator
from fugu.dataflows.kinds.adaptive_crr import RIVAL_DECISION
from fugu.dataflows.kinds.batched_crr import RIVAL_WINDOW
from fugu.dataflows.kinds.families.ranges import RangeSection
from fugu.dataflows.offline.evaluation.candidates import Candidate, Grid, parse_epsilons
from fugu.dataflows.offline.evaluation.family import (
    CONFIGURED,
    Family,
    Wanted,
    needed_megabytes,
    require_memory,
)
from fugu.dataflows.offline.evaluation.ranking import Guess
from fugu.dataflows.offline.evaluation.records.grid import (
    candidates,
    default_epsilons,
    default_rivals,
)
from fugu.dataflows.offline.evaluation.records.in_ticks import sample_in_ticks
from fugu.dataflows.offline.evaluation.records.numbers import NumberMeasure, NumberUtility
from fugu.dataflows.offline.evaluation.records.pooled import (
    POOLED,
    Pooled,
    about_pooled,
    pooled_candidates,
    run_pooled,
)
from fugu.dataflows.offline.evaluation.records.symbols import SymbolMeasure, declared_distance
from fugu.dataflows.offline.evaluation.report import Report, Utility
from fugu.dataflows.offline.evaluation.run import Advance, Run, released
from fugu.dataflows.offline.evaluation.sample import Sample, require_times
from fugu.dataflows.pipeline.config import Pipeline, PipelineFile
from fugu.dataflows.stages.per_record import passing_time
from fugu.operators.guarantee import Notion
from fugu.operators.randomness import Secret
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.wevent_local.window_reports import WindowReports

_OF_SYMBOLS = (
    "expected: how often wrong a reader thinks that records are, from their confidence. "
    "Where not all have one, those that do are counted once more under: of these. If both "
    "are far apart, the model does not fit the sample.",
    "debiased: what a reader makes of the releases who knows the operator.",
)
_OF_NUMBERS = (
    "predicted: what a reader expects who knows the noise. A larger error of the mean, and a bias "
    "beyond its ±, come from what lies outside the declared range, or after the end of a budget.",
)


class Measure(Protocol):
    """Compare releases with the truth of their records."""

    def __call__(self, candidate: Candidate, sample: Sample, runs: Sequence[Run]) -> Utility:
        """Measure all runs of one candidate."""

    def guess(self, sample: Sample) -> Guess:
        """Return what somebody errs who sees no release, in the error that rows are ranked by."""


@dataclass(frozen=True, eq=False)
class RecordFamily(Family[Run, Utility]):
    """Compare every release with the truth of its record, at equal nats per record."""

    measure: Measure

    error_unit: ClassVar = ""

    @classmethod
    def planned(cls, file: PipelineFile, sample: Sample, wanted: Wanted) -> Self:
        epsilons, rivals = wanted.epsilons, wanted.rivals
        tried = default_epsilons(file) if epsilons is None else parse_epsilons(epsilons)
        named = [] if rivals is None else [kind.strip() for kind in rivals.split(",")]
        grid = candidates(file, tried, [kind for kind in named if kind not in POOLED])
        if any(passing_time(candidate.mechanism) is not None for candidate in grid):
            require_times(file.pipeline, "operator.step")
        ticks, own = file.pipeline.operator.in_ticks(), grid[0].mechanism
        if ticks is not None and isinstance(own, WindowReports):
            require_times(file.pipeline, "operator.ticks")
            sample = sample_in_ticks(sample, file.pipeline, own, ticks)
            _require_ticks(sample)
        for candidate in grid:
            require_memory(file, candidate, sample)
        if rivals is None:
            grid += [rival for rival in default_rivals(file, tried) if _suits(file, rival, sample)]
        grid += pooled_candidates(file.pipeline, tried, sample, None if rivals is None else named)
        return cls(file, sample, Grid(grid), _measure(file, grid[0]))

    def configured(self, candidate: Candidate) -> bool:
        own = self.file.pipeline.operator
        return (candidate.kind, candidate.epsilon) == (own.kind, own.nats_per_record)

    def released(self, candidate: Candidate, secret: Secret, advance: Advance) -> Run:
        if isinstance(candidate.mechanism, Pooled):
            advance(self.sample.records)
            return run_pooled(candidate.mechanism, self.file.pipeline, self.sample, secret)
        return released(candidate, self.file.pipeline, self.sample, secret, advance)

    def refused(self, first: Run) -> DeadLetters:
        return first.dead

    def measured(self, candidate: Candidate, runs: Sequence[Run]) -> Utility:
        return self.measure(candidate, self.sample, runs)

    def constant_guess(self) -> Guess:
        return self.measure.guess(self.sample)

    def notions(self, report: Report[Utility]) -> tuple[Notion, ...]:
        stated = {
            some.notion for row in report.rows for some in row.candidate.unbudgeted.guarantees()
        }
        if "sip" in stated:
            return ("ldp", "sip")
        return ("w-event-ldp",) if "w-event-ldp" in stated else ("ldp",)

    def notes(self, report: Report[Utility]) -> Iterator[str]:
        pipeline = self.file.pipeline
        sip = "sip" in report.notions
        candidates = [row.candidate for row in report.rows]
        if "w-event-ldp" in report.notions:
            yield from _of_windows(candidates[0])
        else:
            yield from _of_records(sip)
        if any(row.configured for row in report.rows):
            yield CONFIGURED
        if not all(candidate.sound for candidate in candidates):
            yield (
                "! promises nothing: its eps is a claim that fails. What it spent is what it "
                "really leaked, relative to the model."
            )
        if sip:
            yield (
                "what was spent counts nats relative to the model where an operator uses one, and "
                "without any model where not."
            )
        if pipeline.operator.in_ticks() is not None:
            yield from _of_ticks(self.sample, candidates[0])
        own, numbers = pipeline.operator.kind, isinstance(report.rows[0].utility, NumberUtility)
        yield from dict.fromkeys(line for one in candidates for line in _of_kind(one, own))
        yield from dict.fromkeys(line for one in candidates for line in about_pooled(one))
        rivals = any(one.kind != own for one in candidates)
        if rivals and passing_time(candidates[0].unbudgeted) is not None:
            yield "operator.step: rivals have none, and take one step of a model per record."
        yield from _of_candidates(report)
        yield from _OF_NUMBERS if numbers else _OF_SYMBOLS
        yield from _of_budget(pipeline, report)


def _of_records(sip: bool) -> Iterator[str]:
    relative = "; sip: relative to the declared model" if sip else ""
    yield (
        f"ldp: nats per record that releases may leak, without any model{relative}. Compare rows "
        "with equal nats in the column that you rely on, not rows with the same eps."
    )


def _of_windows(own: Candidate) -> Iterator[str]:
    [promise] = (one for one in own.unbudgeted.guarantees() if one.notion == "w-event-ldp")
    yield (
        f"eps and per window record: the epsilon of a window, divided by its {promise.window} "
        f"records. What is proved is about all {promise.window} of any in a row together, so one "
        "of them alone may have all of it. Rows with the same eps promise the same."
    )


def _require_ticks(sample: Sample) -> None:
    """Raise `FuguError` if no tick of the sample is closed."""
    if not sample.records:
        raise FuguError(
            f"--sample {sample.path}: no tick of it is closed, because no later record moves "
            "stream time to its end. Take a sample of more ticks (operator.ticks.width)"
        )


def _of_ticks(sample: Sample, own: Candidate) -> Iterator[str]:
    assert isinstance(own.mechanism, WindowReports)
    absent = float((sample.decoded.values == own.mechanism.symbols).mean())
    yield (
        "a record is a tick of a stream, from its first record on, also where it has none "
        f"({absent:.1%} of them here). Shares are of all of these; the last tick stays open."
    )


def _measure(file: PipelineFile, own: Candidate) -> Measure:
    """Choose how releases of the pipeline's domain are compared with the truth."""
    match file.pipeline.operator:
        case AlphabetOperator() as section:
            return SymbolMeasure(section.alphabet, declared_distance(own.unbudgeted))
        case RangeSection() as section:
            return NumberMeasure(section.units_per_one)
        case operator:
            raise FuguError(
                f"fugu evaluate does not know how to measure releases of kind {operator.kind}; it "
                "knows symbols and numbers"
            )


def _suits(file: PipelineFile, rival: Candidate, sample: Sample) -> bool:
    """Return whether there is room for a rival, and it shows anything of its own.

    A stream that never comes to its learned model is released as by `grr`.
    """
    inside = rival.unbudgeted
    learns = not isinstance(inside, ColdStart) or inside.positions < sample.longest_stream
    return learns and needed_megabytes(rival, sample) <= file.pipeline.state.max_megabytes


def _of_kind(candidate: Candidate, own: str) -> Iterator[str]:
    rival = candidate.kind != own
    match candidate.unbudgeted:
        case BatchedRelease(window=window):
            as_rival = f" As a rival it has window: {RIVAL_WINDOW} and kernel: heuristic."
            yield (
                f"{candidate.name}: a release is a list of {window} records. eps, ldp and sip are "
                "a record's share of what a list may leak, but all of it may be about one record. "
                "held back: how many records wait in the end for the rest of their list. "
                f"A repeated list counts by its last symbol.{as_rival if rival else ''}"
            )
        case AdaptiveRelease():
            as_rival = f" As a rival it has {RIVAL_DECISION:.0%} of eps for the decision."
            yield (
                "adaptive_crr: eps is that of the decision and of a fresh symbol together. still "
                "good: repeated by that decision, which tells something and costs less than eps, "
                f"so compare what it spent on a record.{as_rival if rival else ''}"
            )
        case ColdStart():
            yield (
                "cold_start_crr: sip is relative to the model that each stream learns, which "
                "nobody holds before: rely on ldp. learned: share of records with such a model."
            )


def _of_candidates(report: Report[Utility]) -> Iterator[str]:
    """Join the epsilons at which the same is to be said."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in report.rows:
        for note in row.utility.notes():
            found.setdefault((row.candidate.name, note), []).append(f"{row.candidate.epsilon:g}")
    for (name, note), epsilons in found.items():
        yield f"{name} at eps {', '.join(epsilons)}: {note}"


def _of_budget(pipeline: Pipeline, report: Report[Utility]) -> Iterator[str]:
    budget = pipeline.budget
    if budget is None:
        return
    window = "" if budget.window is None else f" in any {budget.window} consecutive records"
    yield (
        f"every operator has the pipeline's budget: {budget.total:g} nats per stream{window}. "
        "Rates and biases are of everything published, repeated releases too; debiased shares "
        "and means are estimated from what was paid for, which need not be a fair sample of "
        "all records, and compared with all of them."
    )
    if budget.window is None:
        last = {row.candidate.kind: row.candidate for row in report.rows}
        totals = [f"{kind} {_total(one, report.notions)}" for kind, one in last.items()]
        yield f"all releases of a stream together: {', '.join(totals)}."
    if budget.when_exhausted == "stop":
        yield (
            "budget.when_exhausted is stop: the pipeline would end with the first exhausted "
            "stream. Here the sample goes on, and what cannot be paid for is suppressed."
        )


def _total(candidate: Candidate, notions: Sequence[Notion]) -> str:
    stated = [(notion, candidate.per_stream(notion)) for notion in notions]
    nats = " and ".join(f"{nats:.4g} {notion}" for notion, nats in stated if nats)
    return nats or "promises nothing"
