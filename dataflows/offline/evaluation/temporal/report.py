"""What to know before rows about displaced values are compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fugu.dataflows.kinds import TemporalOperator
from fugu.dataflows.offline.evaluation.report import INSIDE, Report
from fugu.dataflows.offline.evaluation.temporal.numbers import Baseline, Numbers
from fugu.operators.mechanism import Notion

_COSTS_ONLY = (
    "not all payloads are single numbers: there are no counts and averages to compare, and no "
    "operators that would change values. These are the costs only."
)
_CONFIGURED = "* is the pipeline as its file has it."
_COLD = "! promises nothing: with operator.start: cold, early delays have another law."
_CHOSEN = "the first rows are what temporal_perturbation chooses at each eps, by its costs."


@dataclass(frozen=True, eq=False, kw_only=True)
class TemporalReport(Report):
    """`numbers` is None where values are none; `left_out` says which rows there are not."""

    numbers: Numbers | None
    left_out: Sequence[str]

    @property
    def notions(self) -> tuple[Notion, ...]:
        """The only figure that these mechanisms have."""
        return ("delay-law",)

    @property
    def notes(self) -> list[str]:
        """What to know before comparing rows."""
        operator = self.pipeline.operator
        assert isinstance(operator, TemporalOperator)
        costs = operator.costs.of(operator.window)
        notes = [
            "eps limits how much more likely one delay of a value may be than another: at most "
            "exp(eps / 2) times. law: what the law of visible delays really has, never more than "
            "eps; by default rivals get what the pipeline's own law has. Values are published as "
            "they are: this is no ldp, and fugu explain says what it leaves open.",
            *([_CONFIGURED] if any(row.configured for row in self.rows) else []),
            *([] if all(row.candidate.sound for row in self.rows) else [_COLD]),
            *([_CHOSEN] if operator.kind == "temporal_perturbation" else []),
            "missing and repeated are shares of values, empty of ticks (those to which nothing "
            "came are empty too); delay: ticks per value until it first leaves, 0 if it never "
            f"does. total: with costs of {costs.missing:g}, {costs.repeated:g} and "
            f"{costs.empty:g} each, and {costs.delay:g} for a tick (operator.costs). A smaller "
            "total is the better operator, of those with the same eps.",
            *([_COSTS_ONLY] if self.numbers is None else self._of_numbers(self.numbers)),
            *self.left_out,
        ]
        if operator.warm_up == "suppress":
            notes.append(
                "the first window of each epoch is measured too, which this pipeline does not "
                "publish (operator.warm_up): what leaves in it is lost, and a count is short by it."
            )
        if self.runs > 1:
            notes.append(
                f"± is the standard error of a mean over {self.runs} runs, in per cent of it: from "
                "the draws alone, the sample stays the same."
            )
        return [*notes, INSIDE]

    def _of_numbers(self, numbers: Numbers) -> list[str]:
        share = numbers.above.sum() / np.count_nonzero(~np.isnan(numbers.values))
        notes = [
            f"running count: values above {numbers.counted_from:g} ({share:.0%} of all; "
            "--count-above), an empty tick adds nothing. filled: divided by the share of ticks "
            "that hold a value (grr: debiased). moved: that, compared with the true count at the "
            "mean delay earlier. All of that is known to readers.",
            f"moving average: of the last {numbers.reading.average} ticks (--average), empty ones "
            "left out. moved: compared with the true one lag ticks earlier.",
        ]
        if any(isinstance(row.candidate, Baseline) for row in self.rows):
            notes.append(
                "eps/2: these change values and not their ticks, with ldp of half of eps for every "
                "value, so that two values which change places cost eps."
            )
        return notes

    def document(self) -> Mapping[str, object]:
        """The same for a machine."""
        numbers = self.numbers
        read = None
        if numbers is not None:
            bounds = numbers.reading.value_range
            read = {
                "average": numbers.reading.average,
                "count_above": numbers.counted_from,
                "range": None if bounds is None else [float(bound) for bound in bounds],
            }
        return {**super().document(), "numbers": read, "left_out": list(self.left_out)}
