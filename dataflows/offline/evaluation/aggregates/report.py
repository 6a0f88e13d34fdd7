"""What to know before rows about the figures of aggregates are compared."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.kinds import PolicyOperator
from fugu.dataflows.offline.evaluation.aggregates.figures import Summed
from fugu.dataflows.offline.evaluation.aggregates.grid import WindowedCandidate
from fugu.dataflows.offline.evaluation.aggregates.policy_grid import policy_notes
from fugu.dataflows.offline.evaluation.aggregates.utility import (
    ERRORS,
    AggregateUtility,
    Errors,
    Truth,
    errors_document,
)
from fugu.dataflows.offline.evaluation.report import INSIDE, Beside, Report, Row
from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.dataflows.policies.wording import counted
from fugu.operators.mechanism import Notion

GUESS = "constant guess"
_UNPUBLISHED = {"in a run": "—", "of ticks": "—"}
_FEW_WINDOWS = 5


@dataclass(frozen=True, eq=False)
class AggregateRow(Row):
    """A strategy with an epsilon and a window."""

    candidate: WindowedCandidate
    utility: AggregateUtility

    def document(self) -> dict[str, object]:
        """The same for a machine."""
        candidate = self.candidate
        return {
            "operator": candidate.kind,
            "settings": dict(candidate.settings),
            "epsilon": candidate.epsilon,
            "window": candidate.window,
            "configured": self.configured,
            "guarantees": [in_words(some) for some in candidate.mechanism.guarantees()],
            "utility": self.utility.document(),
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class AggregateReport(Report):
    """`left_out` says which rows there are not."""

    rows: Sequence[AggregateRow]
    summed: Summed
    truth: Truth
    left_out: Sequence[str]

    @property
    def notions(self) -> tuple[Notion, ...]:
        """None: all rows promise what eps and window say."""
        return ()

    @property
    def own(self) -> AggregateRow:
        """The pipeline's own strategy, as configured if that is there."""
        return next((row for row in self.rows if row.configured), self.rows[0])

    @property
    def guess(self) -> Errors:
        """Of the mean over everything."""
        return self.truth.constant_guess()

    def beside(self, title: str) -> Sequence[Beside]:
        """The guess, among errors; it publishes nothing."""
        if title == ERRORS:
            return [Beside(GUESS, {"window": "", **self.guess.cells()})]
        return [Beside(GUESS, {"window": "", **self.guess.spread.cells(), **_UNPUBLISHED})]

    @property
    def notes(self) -> list[str]:
        """What to know before comparing rows."""
        return [*self._of_sample(), *self._of_rows(), INSIDE]

    def _of_sample(self) -> Iterator[str]:
        summed, groups = self.summed, self.summed.operator.group_count
        still_open = f"; {summed.open_ticks:,} more open at its end" * (summed.open_ticks > 0)
        yield (
            f"the sample closes {summed.ticks:,} ticks of {counted(groups, 'group')}{still_open}. "
            "True figures are what the pipeline sums before it adds noise: refused records are not "
            "in them."
        )
        reasons = {refused.reason for refused in self.refused}
        if Reason.OUTSIDE_DOMAIN in reasons:
            yield (
                f"outside_domain ({self.pipeline.source.field}): what operator.groups does not "
                "list. Add it there, or let operator.other name the group that takes it."
            )
        if reasons & {Reason.LATE, Reason.TOO_FAR_AHEAD}:
            yield (
                "late, too_far_ahead: lines must stand in the order in which records arrive, of "
                "which operator.ticks (grace, max_jump) decides."
            )

    def _of_rows(self) -> Iterator[str]:
        operator = self.summed.operator
        windows = {row.candidate.window for row in self.rows}
        if isinstance(operator, PolicyOperator):
            kinds = list(dict.fromkeys(row.candidate.kind for row in self.rows))
            yield from policy_notes(operator, kinds, max(windows))
        elif len(windows) > 1:
            yield (
                "eps: nats in any `window` ticks in a row. Rows with the same eps and window "
                "promise the same; the same eps in a longer window promises more."
            )
        else:
            yield f"eps: nats in any {max(windows):,} ticks in a row."
        if any(row.configured for row in self.rows):
            yield "* is the pipeline as its file has it."
        one = "1" if operator.largest_contribution == 1 else "the largest contribution of a user"
        yield (
            "MAE, MSE, MRE: mean over ticks and groups of what a figure errs, of its square, and "
            f"of its share of the true figure (of {one}, where that is more). At ticks at which "
            "nothing new is published, the last figure is repeated."
        )
        yield self._of_guess()
        if operator.kind != "pba" and any(row.candidate.kind == "pba" for row in self.rows):
            yield (
                "pba has flags: false here; with flags: true it is budget_distribution. Flags "
                "improve accuracy, never privacy."
            )
        longest = max(windows)
        if self.summed.ticks < _FEW_WINDOWS * longest:
            yield (
                f"the sample has only {self.summed.ticks / longest:.2g} windows of {longest:,} "
                "ticks: strategies that begin with a large budget look better than they stay."
            )
        yield from self._of_all()

    def _of_guess(self) -> str:
        return (
            f"{GUESS}: the mean of all true figures ({self.truth.mean:,.4g}) in place of every "
            "release. It uses the true data and is no release; but where a strategy errs more, "
            "single figures say less than one average would."
        )

    def _of_all(self) -> Iterator[str]:
        yield from self.left_out
        if self.runs > 1:
            yield (
                f"± is the standard error of a mean over {self.runs} runs, in per cent of it: from "
                "the draws alone, the sample stays the same."
            )

    def document(self) -> Mapping[str, object]:
        """The same for a machine."""
        figures = {
            "ticks": self.summed.ticks,
            "open_ticks": self.summed.open_ticks,
            "groups": self.summed.operator.group_count,
            "mean": self.truth.mean,
        }
        guess = {"uses_true_data": True, **errors_document(self.guess)}
        return {
            **super().document(),
            "figures": figures,
            "constant_guess": guess,
            "left_out": list(self.left_out),
        }

    def draw(self, path: Path) -> None:
        """Errors, and the largest group over time."""
        from fugu.dataflows.offline.evaluation.aggregates.plot import save

        save(self, path)
