"""The whole evaluation: every candidate over the sample, under several secrets."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from fugu.dataflows.base.batches import DeadLetters
from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.offline.evaluation.candidates import (
    Candidate,
    candidates,
    default_epsilons,
    default_rivals,
    parse_epsilons,
)
from fugu.dataflows.offline.evaluation.distances import declared_distance
from fugu.dataflows.offline.evaluation.equal_nats import nats_per_record
from fugu.dataflows.offline.evaluation.numbers import NumberMeasure
from fugu.dataflows.offline.evaluation.report import Report, Row
from fugu.dataflows.offline.evaluation.run import released, secret_of
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.offline.evaluation.symbols import SymbolMeasure
from fugu.dataflows.offline.evaluation.times import require_times
from fugu.dataflows.offline.evaluation.utility import Measure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.stages.per_record import passing_time
from fugu.dataflows.state.row_table import estimated_megabytes
from fugu.operators.sip.cold_start import ColdStart


@runtime_checkable
class _SymbolSection(Protocol):
    @property
    def alphabet(self) -> list[str] | list[int]: ...


@runtime_checkable
class _NumberSection(Protocol):
    @property
    def units_per_one(self) -> int: ...


def planned(
    file: PipelineFile, sample: Sample, epsilons: str | None, rivals: str | None
) -> list[Candidate]:
    """The grid: what was asked for, or what suits pipeline and sample."""
    wanted = default_epsilons(file) if epsilons is None else parse_epsilons(epsilons)
    named = [] if rivals is None else [kind.strip() for kind in rivals.split(",")]
    grid = candidates(file, wanted, named)
    if any(passing_time(candidate.mechanism) is not None for candidate in grid):
        require_times(file.pipeline, "operator.step")
    for candidate in grid:
        require_memory(file, candidate, sample)
    if rivals is None:
        grid += [rival for rival in default_rivals(file, wanted) if _suits(file, rival, sample)]
    return grid


def evaluated(
    file: PipelineFile,
    grid: Sequence[Candidate],
    sample: Sample,
    runs: int,
    seed: int,
    advance: Callable[[int], None] = lambda records: None,
) -> Report:
    """Run the grid, whose first candidate is of the pipeline's own kind, all of it under the same
    secrets. `advance` is told of records done."""
    measure, operator = _measure(file, grid[0]), file.pipeline.operator
    own = (operator.kind, nats_per_record(operator))
    rows: list[Row] = []
    duplicates = DeadLetters()
    for candidate in grid:
        secrets = [secret_of(seed, run) for run in range(runs)]
        done = [released(candidate, file.pipeline, sample, one, advance) for one in secrets]
        configured = (candidate.kind, candidate.epsilon) == own
        if not rows:
            duplicates = done[0].dead
        rows.append(Row(candidate, configured, measure(candidate, sample, done)))
    return Report(file.pipeline, sample, duplicates, runs, seed, rows)


def _measure(file: PipelineFile, own: Candidate) -> Measure:
    """How releases of the pipeline's domain are compared with the truth."""
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
    """Whether there is room for it, and it shows anything of its own: a stream that never comes to
    its learned model is released as by `grr`."""
    inside = rival.unbudgeted
    learns = not isinstance(inside, ColdStart) or inside.positions < sample.longest_stream
    return learns and _megabytes(rival, sample) <= file.pipeline.state.max_megabytes


def require_memory(file: PipelineFile, candidate: Candidate, sample: Sample) -> None:
    """`FuguError` where a running pipeline would not keep so much."""
    most = file.pipeline.state.max_megabytes
    megabytes = _megabytes(candidate, sample)
    if megabytes > most:
        raise FuguError(
            f"--sample: {candidate.kind} at {candidate.epsilon:g} nats per record keeps about "
            f"{megabytes:,.1f} MB for {sample.stream_count:,} streams, which is above "
            f"state.max_megabytes ({most}). Take a sample of fewer streams, or larger epsilons"
        )


def _megabytes(candidate: Candidate, sample: Sample) -> float:
    return estimated_megabytes(candidate.mechanism.start, sample.stream_count)
