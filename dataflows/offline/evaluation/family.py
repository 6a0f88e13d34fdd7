"""Run the one evaluation loop, to which a family of operators contributes what differs."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Generic, Self, TypeVar

from fugu.dataflows.base.batches import DeadLetters
from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.offline.evaluation.candidates import Candidate, Grid
from fugu.dataflows.offline.evaluation.ranking import Guess, in_words, ranked
from fugu.dataflows.offline.evaluation.report import Appendix, Beside, Report, Row, Utility
from fugu.dataflows.offline.evaluation.run import Advance, secret_of
from fugu.dataflows.offline.evaluation.sample import Sample, refused_lines
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.state.row_sizes import estimated_megabytes
from fugu.operators.guarantee import Notion
from fugu.operators.randomness import Secret

INSIDE = (
    "All of this is computed from true values: it belongs where the sample is. Keep it inside, "
    "and choose epsilon on data that the pipeline does not protect."
)
CONFIGURED = "* is the pipeline as its file has it."

R = TypeVar("R")
"""One run of a candidate."""
U = TypeVar("U", bound=Utility)


@dataclass(frozen=True)
class Wanted:
    """Hold what somebody asked for; None: what suits the pipeline."""

    epsilons: str | None = None
    rivals: str | None = None
    windows: str | None = None
    average: int | None = None
    count_above: float | None = None
    value_range: str | None = None


@dataclass(frozen=True, eq=False)
class Family(ABC, Generic[R, U]):
    """Contribute what differs between families: candidates, runs, errors, and how to read them."""

    file: PipelineFile
    sample: Sample
    grid: Grid

    takes: ClassVar[frozenset[str]] = frozenset()
    """Fields of `Wanted` that not every family knows."""
    error_unit: ClassVar[str] = ", in per cent of it"
    """Say how tables show standard errors."""

    @classmethod
    @abstractmethod
    def planned(cls, file: PipelineFile, sample: Sample, wanted: Wanted) -> Self:
        """Choose the candidates; raise `FuguError` if they cannot be compared."""

    @abstractmethod
    def configured(self, candidate: Candidate) -> bool:
        """Return whether the candidate is the pipeline as its file has it."""

    @abstractmethod
    def released(self, candidate: Candidate, secret: Secret, advance: Advance) -> R:
        """Run a candidate over the sample, once."""

    @abstractmethod
    def refused(self, first: R) -> DeadLetters:
        """Return which records were refused after they were read."""

    @abstractmethod
    def measured(self, candidate: Candidate, runs: Sequence[R]) -> U:
        """Compare all runs of a candidate with the truth."""

    @abstractmethod
    def notes(self, report: Report[U]) -> Iterable[str]:
        """Say what to know before comparing rows."""

    def draw(self, report: Report[U], path: Path) -> None:
        """Write a picture; its format follows from the name."""
        from fugu.dataflows.offline.evaluation.plot import save_over_nats

        save_over_nats(report, path)

    def notions(self, report: Report[U]) -> tuple[Notion, ...]:
        """Return the figures of privacy that rows are compared in."""
        return ()

    def beside(self, runs: int, seed: int) -> Sequence[Beside]:
        """Return rows that are no candidates."""
        return ()

    def extra(self, report: Report[U]) -> Mapping[str, object]:
        """Return the family's own fields for a machine."""
        return {}

    def constant_guess(self) -> Guess | None:
        """Return what a constant in place of every release errs, where that is measured."""
        return None

    def appendix(self, report: Report[U]) -> Sequence[Appendix]:
        """Return tables of the family's own."""
        return ()

    @property
    def steps(self) -> int:
        """Return how far one run of everything advances."""
        return len(self.grid.candidates) * self.sample.records

    def report(self, runs: int, seed: int, advance: Advance = lambda steps: None) -> Report[U]:
        """Run the whole grid under the same secrets; `advance` is told what is done."""
        rows: list[Row[U]] = []
        dead = DeadLetters()
        for candidate in self.grid.candidates:
            secrets = [secret_of(seed, run) for run in range(runs)]
            done = [self.released(candidate, secret, advance) for secret in secrets]
            dead = dead if rows else self.refused(done[0])
            rows.append(Row(candidate, self.configured(candidate), self.measured(candidate, done)))
        refused = [*refused_lines(self.sample.decoded.dead), *refused_lines(dead)]
        beside, name = self.beside(runs, seed), self.file.pipeline.name
        bare = Report(name, self.sample, refused, runs, seed, rows, beside)
        report = replace(bare, notions=self.notions(bare))
        notes = [*self.notes(report), INSIDE]
        if runs > 1:
            notes[-1:-1] = [
                f"± is the standard error of a mean over {runs} runs{self.error_unit}: from the "
                "draws alone, the sample stays the same."
            ]
        draw = partial(self.draw, report)
        extra, appendix = self.extra(report), self.appendix(report)
        notion = report.notions[0] if report.notions else None
        ranking = [*in_words(report, ranked(report, notion), self.constant_guess())]
        report = replace(report, notes=notes, ranking=ranking)
        return replace(report, extra=extra, appendix=appendix, draw=draw)


def require_memory(file: PipelineFile, candidate: Candidate, sample: Sample) -> None:
    """Raise `FuguError` where a running pipeline would not keep so much."""
    most, megabytes = file.pipeline.state.max_megabytes, needed_megabytes(candidate, sample)
    if megabytes > most:
        raise FuguError(
            f"--sample: {candidate.kind} at {candidate.epsilon:g} nats per record keeps about "
            f"{megabytes:,.1f} MB for {sample.stream_count:,} streams, which is above "
            f"state.max_megabytes ({most}). Take a sample of fewer streams, or larger epsilons"
        )


def needed_megabytes(candidate: Candidate, sample: Sample) -> float:
    """Estimate what the rows of all streams take."""
    return estimated_megabytes(candidate.mechanism.start, sample.stream_count)
