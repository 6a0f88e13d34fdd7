"""Evaluate w-event strategies: the pipeline's own and all others, over epsilons and windows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Self

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.kinds import WEventOperator, as_kind, kinds_of
from fugu.dataflows.offline.evaluation.aggregates.family import AggregateFamily, require_ticks
from fugu.dataflows.offline.evaluation.aggregates.figures import Summed
from fugu.dataflows.offline.evaluation.aggregates.utility import AggregateUtility
from fugu.dataflows.offline.evaluation.candidates import (
    Candidate,
    Grid,
    chosen_epsilons,
    chosen_rivals,
)
from fugu.dataflows.offline.evaluation.family import Wanted
from fugu.dataflows.offline.evaluation.report import Report
from fugu.dataflows.offline.evaluation.sample import Sample, require_times
from fugu.dataflows.pipeline.pipeline_file import PipelineFile

_APART = {"binary_tree": "its totals are about many ticks", "quantified": "it has no epsilon"}
STRATEGIES = tuple(kind for kind in kinds_of(WEventOperator) if kind not in _APART)
_LARGEST_WINDOW = 100_000


@dataclass(frozen=True, eq=False)
class WindowFamily(AggregateFamily):
    """Compare strategies whose epsilon holds in any window."""

    takes: ClassVar = frozenset({"windows"})

    @classmethod
    def planned(cls, file: PipelineFile, sample: Sample, wanted: Wanted) -> Self:
        operator = file.pipeline.operator
        assert isinstance(operator, WEventOperator)
        require_times(file.pipeline, "operator.ticks")
        if operator.kind in _APART or operator.epsilon is None:
            raise FuguError(
                f"fugu evaluate compares figures of ticks at equal epsilons, and not "
                f"{operator.kind}: {_APART[operator.kind]}"
            )
        own = float(operator.epsilon)
        windows = [operator.window] if wanted.windows is None else parse_windows(wanted.windows)
        rivals = chosen_rivals(operator.kind, wanted.rivals, STRATEGIES)
        grid = _grid(operator, chosen_epsilons(own, wanted.epsilons), windows, rivals)
        summed = Summed.of(file.pipeline, operator, sample)
        require_ticks(sample, summed, max(windows), "a window has", ", or smaller --windows")
        return cls(file, sample, grid, summed, (operator.kind, own, operator.window))

    def promises(self, report: Report[AggregateUtility]) -> Iterator[str]:
        windows = {row.candidate.window or 0 for row in report.rows}
        if len(windows) > 1:
            yield (
                "eps: nats in any `window` ticks in a row. Rows with the same eps and window "
                "promise the same; the same eps in a longer window promises more."
            )
        else:
            yield f"eps: nats in any {max(windows):,} ticks in a row."

    def draw(self, report: Report[AggregateUtility], path: Path) -> None:
        from fugu.dataflows.offline.evaluation.aggregates.plot import save_windows

        save_windows(path, report, self.summed, self.truth)


def parse_windows(text: str) -> list[int]:
    """Read positive integers with commas between them; sort them, and keep each once."""
    try:
        windows = sorted({int(word) for word in text.split(",")})
    except ValueError:
        windows = []
    if not windows or windows[0] < 1 or windows[-1] > _LARGEST_WINDOW:
        raise FuguError(
            f"--windows {text}: write whole numbers of ticks with commas between them, such as "
            f"10,20,40, at most {_LARGEST_WINDOW:,}"
        )
    return windows


def _grid(
    operator: WEventOperator,
    epsilons: Sequence[float],
    windows: Sequence[int],
    rivals: Sequence[str],
) -> Grid:
    """Take the own strategy first, then its rivals, each with every window and epsilon."""
    grid = Grid()
    for kind in (operator.kind, *rivals):
        for window in windows:
            for epsilon in epsilons:
                made = partial(_candidate, operator, kind, epsilon, window)
                grid.add(f"{kind} with window {window}", epsilon, made)
    grid.require_some()
    return grid


def _candidate(operator: WEventOperator, kind: str, epsilon: float, window: int) -> Candidate:
    section = as_kind(operator, kind, epsilon=epsilon, window=window)
    mechanism = section.strategy()
    settings = section.model_dump(include={"epsilon", "window", "flags"} & section.model_fields_set)
    return Candidate(kind, epsilon, mechanism, settings, window=window)
