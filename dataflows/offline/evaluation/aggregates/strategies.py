"""Evaluate strategies for windows and under policies: the pipeline's own and all others.

Under policies, which say when something is hidden, they stand beside w-event strategies, which hide
everything in every window, at the same epsilons. A window is as long as the longest interval that
is open at some tick of the sample, unless the operator has one: then what is hidden in any window
is hidden in any interval.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar, Self

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.kinds import PolicyOperator, WEventOperator, as_kind, kinds_of, strategy_of
from fugu.dataflows.offline.evaluation.aggregates.family import AggregateFamily, require_ticks
from fugu.dataflows.offline.evaluation.aggregates.figures import Summed
from fugu.dataflows.offline.evaluation.aggregates.utility import AggregateUtility
from fugu.dataflows.offline.evaluation.candidates import (
    Candidate,
    Grid,
    chosen_epsilons,
    chosen_rivals,
    sorted_numbers,
)
from fugu.dataflows.offline.evaluation.family import Wanted
from fugu.dataflows.offline.evaluation.report import Appendix, Report
from fugu.dataflows.offline.evaluation.sample import Sample, require_times
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.policies.course import OF_STRATEGIES
from fugu.dataflows.policies.remarks import HOW_TO_READ, Measured, noise_data, noise_table
from fugu.operators.swellfish.attribution import Attribution, attribution
from fugu.operators.wevent.allocation import Booleans

_APART = {"binary_tree": "its totals are about many ticks", "quantified": "it has no epsilon"}
STRATEGIES = tuple(kind for kind in kinds_of(WEventOperator) if kind not in _APART)
_LARGEST_WINDOW = 100_000

UNDER_POLICIES = kinds_of(PolicyOperator)
_IN_WINDOWS = ("uniform", "sample", "budget_distribution", "budget_absorption", "rescue_dp")
RIVALS = (*UNDER_POLICIES, *_IN_WINDOWS)


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
        grid, epsilons = Grid(), chosen_epsilons(own, wanted.epsilons)
        kinds = {
            f"{kind} with window {window}": (kind, window)
            for kind in (operator.kind, *rivals)
            for window in windows
        }

        def made(name: str, epsilon: float) -> Candidate:
            return _in_windows(operator, *kinds[name], epsilon)

        grid.add_each(kinds, epsilons, made)
        grid.require_some()
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
        self.picture(report).save_windows(path)


@dataclass(frozen=True, eq=False)
class PolicyFamily(AggregateFamily):
    """Compare strategies whose epsilon holds in any relevance interval."""

    operator: PolicyOperator

    @classmethod
    def planned(cls, file: PipelineFile, sample: Sample, wanted: Wanted) -> Self:
        operator = file.pipeline.operator
        assert isinstance(operator, PolicyOperator)
        require_times(file.pipeline, "operator.ticks")
        own = operator.policies.section.epsilon
        rivals = chosen_rivals(operator.kind, wanted.rivals, RIVALS)
        summed = Summed.of(file.pipeline, operator, sample)
        require_ticks(sample, summed, 1, "a figure takes")
        window = operator.window or _longest_interval(operator, summed)
        grid, made = Grid(), partial(_under_policies, operator, window)
        epsilons = chosen_epsilons(own, wanted.epsilons)
        grid.add_each((operator.kind, *rivals), epsilons, made)
        grid.require_some()
        return cls(file, sample, grid, summed, (operator.kind, own, window), operator)

    def promises(self, report: Report[AggregateUtility]) -> Iterator[str]:
        yield (
            "eps: nats in any relevance interval, of what policies say. Everything else is not "
            "hidden: where nothing is relevant, see operator.irrelevant "
            f"({self.operator.irrelevant})."
        )
        kinds = dict.fromkeys(row.candidate.kind for row in report.rows)
        names = ", ".join(kind for kind in kinds if kind in _IN_WINDOWS)
        if names:
            yield (
                f"{names}: eps holds in any {self.own[2]:,} ticks in a row, for whatever a user "
                "contributes. They promise more, and policies are kept too."
            )

    @cached_property
    def attribution(self) -> Attribution:
        """Return the expected noise of the ticks of the sample, and whose it is."""
        ticks = self.summed.numbers
        return attribution(self.operator.timeline, ticks[0], ticks[-1], self.own[1])

    def appendix(self, report: Report[AggregateUtility]) -> Sequence[Appendix]:
        own = report.own.candidate
        title = (
            f"Noise by collection and policy, expected at eps {self.own[1]:g}, and what "
            f"{own.name} at eps {own.epsilon:g} errs there"
        )
        table = noise_table(self.operator.policies, self.attribution, self._measured(report))
        return [Appendix(title, table)]

    def _measured(self, report: Report[AggregateUtility]) -> Measured:
        """Measure the pipeline's own strategy."""
        place, errors = self.attribution.places(self.summed.numbers), report.own.utility.by_tick

        def error(relevant: Booleans) -> float | None:
            there = errors[relevant[place]]
            return float(there.mean()) if there.size else None

        return error

    def of_columns(self, report: Report[AggregateUtility]) -> Iterator[str]:
        yield from super().of_columns(report)
        yield f"Noise by collection and policy: expected is Δ_t δ / epsilon; {OF_STRATEGIES}."
        yield from HOW_TO_READ

    def extra(self, report: Report[AggregateUtility]) -> Mapping[str, object]:
        measured = self._measured(report)
        found = noise_data(self.operator.policies, self.attribution, measured)
        return {**super().extra(report), "noise": found}

    def draw(self, report: Report[AggregateUtility], path: Path) -> None:
        self.picture(report).save_boxes(path, UNDER_POLICIES)


def parse_windows(text: str) -> list[int]:
    """Read positive integers with commas between them; sort them, and keep each once."""
    windows = sorted_numbers(text, int)
    if not windows or windows[0] < 1 or windows[-1] > _LARGEST_WINDOW:
        raise FuguError(
            f"--windows {text}: write whole numbers of ticks with commas between them, such as "
            f"10,20,40, at most {_LARGEST_WINDOW:,}"
        )
    return windows


def _in_windows(operator: WEventOperator, kind: str, window: int, epsilon: float) -> Candidate:
    section = as_kind(operator, kind, epsilon=epsilon, window=window)
    settings = section.model_dump(include={"epsilon", "window", "flags"} & section.model_fields_set)
    return Candidate(kind, epsilon, section.strategy(), settings, window=window)


def _longest_interval(operator: PolicyOperator, summed: Summed) -> int:
    """Count ticks of those that are open at a tick of the sample; return 1 where none is."""
    relevant = (operator.timeline.relevance(tick, b"") for tick in summed.numbers)
    lengths = (one.end - one.start + 1 for asked in relevant for one in asked.intervals)
    return max(lengths, default=1)


def _under_policies(operator: PolicyOperator, window: int, kind: str, epsilon: float) -> Candidate:
    windowed = kind in _IN_WINDOWS or kind.startswith("ts_")
    settings = {"window": window} if windowed else {}
    if kind in _IN_WINDOWS:
        shape = operator.group_count, window, epsilon, operator.sensitivity
        return Candidate(kind, epsilon, strategy_of(kind)(*shape), settings, window=window)
    section: PolicyOperator = as_kind(operator, kind, window=window if windowed else None)
    return Candidate(kind, epsilon, section.strategy(epsilon), settings, window=window)
