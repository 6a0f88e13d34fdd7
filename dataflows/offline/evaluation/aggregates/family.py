"""Evaluate aggregates: what windows, policies and real_time have in common."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fugu.dataflows.base.batches import DeadLetters, Reason
from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.offline.evaluation.aggregates.figures import Figures, Summed
from fugu.dataflows.offline.evaluation.aggregates.utility import AggregateUtility, Truth
from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.estimates import NOTHING
from fugu.dataflows.offline.evaluation.family import CONFIGURED, Family
from fugu.dataflows.offline.evaluation.ranking import Guess
from fugu.dataflows.offline.evaluation.report import Beside, Report, document_of, tables_of
from fugu.dataflows.offline.evaluation.run import Advance
from fugu.dataflows.offline.evaluation.sample import Sample, refused_lines
from fugu.dataflows.policies.course import counted
from fugu.operators.randomness import Secret

if TYPE_CHECKING:
    from fugu.dataflows.offline.evaluation.aggregates.plot import Picture

GUESS = "constant guess"
_FEW_WINDOWS = 5


@dataclass(frozen=True, eq=False)
class AggregateFamily(Family[Figures, AggregateUtility]):
    """Compare released figures with the true ones; `own` is name, epsilon and window."""

    summed: Summed
    own: tuple[str, float, int]

    @cached_property
    def truth(self) -> Truth:
        """Return the figures without noise."""
        return Truth.of(self.summed)

    @property
    def steps(self) -> int:
        return len(self.grid.candidates) * self.summed.ticks

    def configured(self, candidate: Candidate) -> bool:
        return (candidate.name, candidate.epsilon, candidate.window) == self.own

    def released(self, candidate: Candidate, secret: Secret, advance: Advance) -> Figures:
        return self.summed.released(candidate.mechanism, secret, advance)

    def refused(self, first: Figures) -> DeadLetters:
        return self.summed.dead

    def measured(self, candidate: Candidate, runs: Sequence[Figures]) -> AggregateUtility:
        several = len({one.window for one in self.grid.candidates}) > 1
        return AggregateUtility.of(self.truth, runs, candidate.window if several else None)

    def beside(self, runs: int, seed: int) -> Sequence[Beside]:
        others = {"window": "", "in a run": NOTHING, "of ticks": NOTHING}
        guess = tables_of(self.truth.constant_guess().figures())
        tables = {title: {**others, **cells} for title, cells in guess.items()}
        return [Beside(GUESS, tables, None)]

    def extra(self, report: Report[AggregateUtility]) -> Mapping[str, object]:
        return {
            "figures": {
                "ticks": self.summed.ticks,
                "open_ticks": self.summed.open_ticks,
                "groups": self.summed.operator.group_count,
                "mean": self.truth.mean,
            },
            "constant_guess": self.guess_document(),
            "left_out": self.grid.left_out,
        }

    def constant_guess(self) -> Guess:
        return Guess(
            "the mean of all figures",
            self.truth.constant_guess().absolute.value,
            "Nothing is learned of single figures at this privacy: take a larger epsilon, longer "
            "ticks, fewer groups or a shorter window",
        )

    def guess_document(self) -> dict[str, object]:
        """Say for a machine what a guess errs."""
        return {"uses_true_data": True, **document_of(self.truth.constant_guess().figures())}

    def picture(self, report: Report[AggregateUtility]) -> "Picture":
        """Return what draws the report."""
        from fugu.dataflows.offline.evaluation.aggregates.plot import Picture

        return Picture(report, self.summed, self.truth)

    @abstractmethod
    def promises(self, report: Report[AggregateUtility]) -> Iterator[str]:
        """Say what the same epsilon means in different rows."""

    def notes(self, report: Report[AggregateUtility]) -> Iterator[str]:
        yield from self._of_sample(report)
        yield from self.promises(report)
        if any(row.configured for row in report.rows):
            yield CONFIGURED
        yield from self.of_columns(report)
        yield from self.grid.left_out

    def of_columns(self, report: Report[AggregateUtility]) -> Iterator[str]:
        """Say how errors are measured, and what makes them look small."""
        operator = self.summed.operator
        one = "1" if operator.largest_contribution == 1 else "the largest contribution of a user"
        yield (
            "MAE, MSE, MRE: mean over ticks and groups of what a figure errs, of its square, and "
            f"of its share of the true figure (of {one}, where that is more). At ticks at which "
            "nothing new is published, the last figure is repeated."
        )
        yield self.of_guess()
        if operator.kind != "pba" and any(row.candidate.kind == "pba" for row in report.rows):
            yield (
                "pba has flags: false here; with flags: true it is budget_distribution. Flags "
                "improve accuracy, never privacy."
            )
        longest = max(row.candidate.window or 0 for row in report.rows)
        if self.summed.ticks < _FEW_WINDOWS * longest:
            yield (
                f"the sample has only {self.summed.ticks / longest:.2g} windows of {longest:,} "
                "ticks: strategies that begin with a large budget look better than they stay."
            )

    def of_guess(self) -> str:
        """Say that nobody may release the guess."""
        return (
            f"{GUESS}: the mean of all true figures ({self.truth.mean:,.4g}) in place of every "
            "release. It uses the true data and is no release; but where a strategy errs more, "
            "single figures say less than one average would."
        )

    def _of_sample(self, report: Report[AggregateUtility]) -> Iterator[str]:
        summed, groups = self.summed, self.summed.operator.group_count
        still_open = f"; {summed.open_ticks:,} more open at its end" * (summed.open_ticks > 0)
        yield (
            f"the sample closes {summed.ticks:,} ticks of {counted(groups, 'group')}{still_open}. "
            "True figures are what the pipeline sums before it adds noise: refused records are not "
            "in them."
        )
        reasons = {refused.reason for refused in report.refused}
        if Reason.OUTSIDE_DOMAIN in reasons:
            yield (
                f"outside_domain ({self.file.pipeline.source.field}): what operator.groups does "
                "not list. Add it there, or let operator.other name the group that takes it."
            )
        if reasons & {Reason.LATE, Reason.TOO_FAR_AHEAD}:
            yield (
                "late, too_far_ahead: lines must stand in the order in which records arrive, of "
                "which operator.ticks (grace, max_jump) decides."
            )


def require_ticks(
    sample: Sample, summed: Summed, needed: int, what: str, otherwise: str = ""
) -> None:
    """Raise `FuguError` for less than a window: strategies that save have not begun to spend."""
    if summed.ticks >= needed:
        return
    refused = [*refused_lines(sample.decoded.dead), *refused_lines(summed.dead)]
    because = f" (refused: {'; '.join(map(str, refused))})" if refused else ""
    raise FuguError(
        f"--sample {sample.path}: it closes {summed.ticks:,} ticks, and {what} {needed:,}"
        f"{because}. Give records of a longer time, in the order in which they arrive{otherwise}"
    )
