"""Evaluate operators that release symbols or numbers, record by record."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, Self, runtime_checkable

from fugu.dataflows.base.batches import DeadLetters
from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.offline.evaluation.candidates import Candidate, Grid, parse_epsilons
from fugu.dataflows.offline.evaluation.family import (
    Family,
    Wanted,
    needed_megabytes,
    require_memory,
)
from fugu.dataflows.offline.evaluation.records.equal_nats import nats_per_record
from fugu.dataflows.offline.evaluation.records.grid import (
    candidates,
    default_epsilons,
    default_rivals,
)
from fugu.dataflows.offline.evaluation.records.notes import notes
from fugu.dataflows.offline.evaluation.records.numbers import NumberMeasure
from fugu.dataflows.offline.evaluation.records.symbols import SymbolMeasure, declared_distance
from fugu.dataflows.offline.evaluation.report import Report, Utility
from fugu.dataflows.offline.evaluation.run import Advance, Run, released
from fugu.dataflows.offline.evaluation.sample import Sample, require_times
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.stages.per_record import passing_time
from fugu.operators.mechanism import Notion
from fugu.operators.secret import Secret
from fugu.operators.sip.cold_start import ColdStart


@runtime_checkable
class _SymbolSection(Protocol):
    @property
    def alphabet(self) -> list[str] | list[int]: ...


@runtime_checkable
class _NumberSection(Protocol):
    @property
    def units_per_one(self) -> int: ...


@dataclass(frozen=True, eq=False)
class RecordFamily(Family[Run, Utility]):
    """Compare every release with the truth of its record, at equal nats per record."""

    measure: Callable[[Candidate, Sample, Sequence[Run]], Utility]

    error_unit: ClassVar = ""

    @classmethod
    def planned(cls, file: PipelineFile, sample: Sample, wanted: Wanted) -> Self:
        epsilons, rivals = wanted.epsilons, wanted.rivals
        tried = default_epsilons(file) if epsilons is None else parse_epsilons(epsilons)
        named = [] if rivals is None else [kind.strip() for kind in rivals.split(",")]
        grid = candidates(file, tried, named)
        if any(passing_time(candidate.mechanism) is not None for candidate in grid):
            require_times(file.pipeline, "operator.step")
        for candidate in grid:
            require_memory(file, candidate, sample)
        if rivals is None:
            grid += [rival for rival in default_rivals(file, tried) if _suits(file, rival, sample)]
        return cls(file, sample, Grid(grid), _measure(file, grid[0]))

    def configured(self, candidate: Candidate) -> bool:
        operator = self.file.pipeline.operator
        return (candidate.kind, candidate.epsilon) == (operator.kind, nats_per_record(operator))

    def released(self, candidate: Candidate, secret: Secret, advance: Advance) -> Run:
        return released(candidate, self.file.pipeline, self.sample, secret, advance)

    def refused(self, first: Run) -> DeadLetters:
        return first.dead

    def measured(self, candidate: Candidate, runs: Sequence[Run]) -> Utility:
        return self.measure(candidate, self.sample, runs)

    def notions(self, report: Report[Utility]) -> tuple[Notion, ...]:
        stated = {
            some.notion for row in report.rows for some in row.candidate.unbudgeted.guarantees()
        }
        return ("ldp", "sip") if "sip" in stated else ("ldp",)

    def notes(self, report: Report[Utility]) -> Iterator[str]:
        return notes(self.file.pipeline, report)

    def draw(self, report: Report[Utility], path: Path) -> None:
        from fugu.dataflows.offline.evaluation.over_nats import save_over_nats

        save_over_nats(report, path)


def _measure(
    file: PipelineFile, own: Candidate
) -> Callable[[Candidate, Sample, Sequence[Run]], Utility]:
    """Choose how releases of the pipeline's domain are compared with the truth."""
    match file.pipeline.operator:
        case _SymbolSection() as section:
            return SymbolMeasure(section.alphabet, declared_distance(own.unbudgeted))
        case _NumberSection() as section:
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
