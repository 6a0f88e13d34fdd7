"""The whole evaluation of an aggregate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.kinds import AggregateOperator, PolicyOperator, WEventOperator
from fugu.dataflows.offline.evaluation.aggregates.figures import Summed
from fugu.dataflows.offline.evaluation.aggregates.grid import (
    STRATEGIES,
    WindowedCandidate,
    chosen_rivals,
    grid_of,
    parse_windows,
    require_comparable,
)
from fugu.dataflows.offline.evaluation.aggregates.policy_grid import (
    RIVALS,
    longest_interval,
    policy_grid,
)
from fugu.dataflows.offline.evaluation.aggregates.report import AggregateReport, AggregateRow
from fugu.dataflows.offline.evaluation.aggregates.utility import AggregateUtility, Truth
from fugu.dataflows.offline.evaluation.candidates import parse_epsilons
from fugu.dataflows.offline.evaluation.grid import Grid
from fugu.dataflows.offline.evaluation.run import secret_of
from fugu.dataflows.offline.evaluation.sample import Sample, refused_lines
from fugu.dataflows.offline.evaluation.times import require_times
from fugu.dataflows.pipeline.pipeline_file import PipelineFile


@dataclass(frozen=True, eq=False)
class AggregateEvaluation:
    """What is compared, over which sample."""

    file: PipelineFile
    sample: Sample
    summed: Summed
    grid: Grid[WindowedCandidate]
    own: tuple[str, float, int]
    """Kind, epsilon and window of the pipeline as its file has it."""

    @classmethod
    def planned(
        cls,
        file: PipelineFile,
        sample: Sample,
        epsilons: str | None,
        windows: str | None,
        rivals: str | None,
    ) -> "AggregateEvaluation":
        """What was asked for, or what suits the pipeline; all records are summed already."""
        operator = file.pipeline.operator
        assert isinstance(operator, AggregateOperator)
        require_times(file.pipeline, "operator.ticks")
        if isinstance(operator, PolicyOperator):
            return cls._under_policies(file, operator, sample, epsilons, rivals)
        assert isinstance(operator, WEventOperator)
        own = require_comparable(operator)
        lengths = [operator.window] if windows is None else parse_windows(windows)
        chosen = chosen_rivals(operator.kind, rivals, STRATEGIES)
        grid = grid_of(operator, chosen_epsilons(own, epsilons), lengths, chosen)
        summed = Summed.of(file.pipeline, operator, sample)
        require_ticks(sample, summed, max(lengths), "a window has", ", or smaller --windows")
        return cls(file, sample, summed, grid, (operator.kind, own, operator.window))

    @classmethod
    def _under_policies(
        cls,
        file: PipelineFile,
        operator: PolicyOperator,
        sample: Sample,
        epsilons: str | None,
        rivals: str | None,
    ) -> "AggregateEvaluation":
        own = operator.policies.section.epsilon
        chosen = chosen_rivals(operator.kind, rivals, RIVALS)
        summed = Summed.of(file.pipeline, operator, sample)
        require_ticks(sample, summed, 1, "a figure takes")
        window = operator.window or longest_interval(operator, summed)
        grid = policy_grid(operator, chosen_epsilons(own, epsilons), window, chosen)
        return cls(file, sample, summed, grid, (operator.kind, own, window))

    @property
    def steps(self) -> int:
        """Ticks of one run of all candidates."""
        return len(self.grid.candidates) * self.summed.ticks

    def report(
        self, runs: int, seed: int, advance: Callable[[int], None] = lambda ticks: None
    ) -> AggregateReport:
        """Run the grid, all of it under the same secrets; `advance` is told of ticks done."""
        truth = Truth.of(self.summed)
        several = len({one.window for one in self.grid.candidates}) > 1
        rows = []
        for candidate in self.grid.candidates:
            secrets = [secret_of(seed, run) for run in range(runs)]
            done = [self.summed.released(candidate.mechanism, one, advance) for one in secrets]
            configured = (candidate.kind, candidate.epsilon, candidate.window) == self.own
            utility = AggregateUtility.of(truth, done, candidate.window if several else None)
            rows.append(AggregateRow(candidate, configured, utility))
        return AggregateReport(
            self.file.pipeline,
            self.sample,
            self.summed.dead,
            runs,
            seed,
            rows=rows,
            summed=self.summed,
            truth=truth,
            left_out=self.grid.left_out,
        )


def chosen_epsilons(own: float, text: str | None) -> list[float]:
    """What was asked for; otherwise half, once and twice the pipeline's own."""
    return [own / 2.0, own, own * 2.0] if text is None else parse_epsilons(text)


def require_ticks(
    sample: Sample, summed: Summed, needed: int, what: str, otherwise: str = ""
) -> None:
    """A window at least, or strategies that save budget have not begun to spend it."""
    if summed.ticks >= needed:
        return
    refused: Sequence[object] = [*refused_lines(sample.decoded.dead), *refused_lines(summed.dead)]
    because = f" (refused: {'; '.join(map(str, refused))})" if refused else ""
    raise FuguError(
        f"--sample {sample.path}: it closes {summed.ticks:,} ticks, and {what} {needed:,}"
        f"{because}. Give records of a longer time, in the order in which they arrive{otherwise}"
    )
