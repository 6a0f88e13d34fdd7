"""Compare personal caps on a sample: what each of them cuts off, and the noise that it leaves."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from fugu.dataflows.kinds.families.capped import CappedAggregate
from fugu.dataflows.offline.evaluation.aggregates.figures import Summed
from fugu.dataflows.offline.evaluation.aggregates.utility import AggregateUtility
from fugu.dataflows.offline.evaluation.estimates import Estimate
from fugu.dataflows.offline.evaluation.report import Report, Row
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.operators.mechanism import Integers, Mechanism
from fugu.operators.personal_cap import PersonalCap, cap_of

C = TypeVar("C", bound=CappedAggregate)

_TIMES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of the pipeline's cap that are tried."""


@dataclass(frozen=True, eq=False)
class Caps(Generic[C]):
    """Hold the sums of one sample without a cap, and under the pipeline's cap and others.

    `deviation` says what noise a mechanism adds to a figure, in units, `what` names that noise, and
    `published` makes what is compared of the figures of ticks.
    """

    own: PersonalCap
    uncapped: Summed
    summed: Mapping[PersonalCap, Summed]
    deviation: Callable[[Mechanism], float]
    what: str
    published: Callable[[Integers], Integers]

    @classmethod
    def of(
        cls,
        file: PipelineFile,
        operator: C,
        sample: Sample,
        deviation: Callable[[Mechanism], float],
        what: str,
        published: Callable[[Integers], Integers],
    ) -> "Caps[C] | None":
        """Sum the sample once for each cap; None where the pipeline has none."""
        own = operator.personal_cap
        if own is None:
            return None
        without = operator.model_copy(update={"contributions": None})
        summed = {
            cap: Summed.of(file.pipeline, section, sample)
            for section in with_other_caps(operator)
            if (cap := section.personal_cap) is not None
        }
        uncapped = Summed.of(file.pipeline, without, sample)
        return cls(own, uncapped, summed, deviation, what, published)

    def cut(self, cap: PersonalCap) -> float:
        """Return the share of contributions that a cap cuts off."""
        whole = int(np.abs(self.uncapped.truth()).sum())
        lost = whole - int(np.abs(self.summed[cap].truth()).sum())
        return lost / whole if whole else 0.0

    def bias(self, cap: PersonalCap) -> float:
        """Return how far figures under a cap are from those without, on average."""
        whole, kept = (self.published(one.truth()) for one in (self.uncapped, self.summed[cap]))
        return float(np.abs(whole - kept).mean()) / self.uncapped.operator.units_per_one

    def noise(self, mechanism: Mechanism) -> float:
        """Return the deviation of the noise of a figure, before it is filtered."""
        return self.deviation(mechanism) / self.uncapped.operator.units_per_one

    def rows(self, report: Report[AggregateUtility]) -> Sequence[Row[AggregateUtility]]:
        """Return a row for each cap, with all else as in the pipeline."""
        own = report.own.candidate

        def rest(settings: Mapping[str, object]) -> Mapping[str, object]:
            return {name: one for name, one in settings.items() if name != "contributions"}

        found = [
            row
            for row in report.rows
            if row.candidate.kind == own.kind and rest(row.candidate.settings) == rest(own.settings)
        ]
        return sorted(found, key=lambda row: _cap(row).at_most)

    def in_words(self, report: Report[AggregateUtility]) -> Iterator[str]:
        """Say what each cap costs, and which one errs least here."""
        rows = self.rows(report)
        yield (
            "at most k: a user counts in k ticks of a period. Errors are against figures without a "
            "cap, so they hold both what is cut off and noise; bars (held) know of noise alone."
        )
        for row in rows:
            cap = _cap(row)
            yield (
                f"at most {cap.at_most:,}: cuts off {self.cut(cap):.1%} of contributions, "
                f"{self.bias(cap):,.3g} a figure; {self.what} "
                f"{self.noise(row.candidate.mechanism):,.3g}; MAE {_error(row).value:,.3g}."
            )
        best = min(rows, key=lambda row: _error(row).value)
        yield (
            f"of these, at_most: {_cap(best).at_most} errs least. Choose by it only if the sample "
            "is public, or of people whose data are not protected: a cap that is chosen by looking "
            "at private data tells about them."
        )

    def document(self, report: Report[AggregateUtility]) -> list[dict[str, object]]:
        """Say the same for a machine."""
        return [
            {
                "at_most": _cap(row).at_most,
                "cut_share": self.cut(_cap(row)),
                "bias": self.bias(_cap(row)),
                "noise": self.noise(row.candidate.mechanism),
                "mean_absolute_error": _error(row).value,
            }
            for row in self.rows(report)
        ]

    def curves(
        self, report: Report[AggregateUtility]
    ) -> Mapping[str, Sequence[tuple[float, Estimate]]]:
        """Return by cap the error, and the two things that it is made of."""
        rows = self.rows(report)
        return {
            "error (MAE)": [(_cap(row).at_most, _error(row)) for row in rows],
            "cut off": [(_cap(row).at_most, Estimate(self.bias(_cap(row)))) for row in rows],
            self.what: [
                (_cap(row).at_most, Estimate(self.noise(row.candidate.mechanism))) for row in rows
            ],
        }


def with_other_caps(operator: C) -> Iterator[C]:
    """Yield the section, and copies of it with other caps, smallest first."""
    own, declared = operator.personal_cap, operator.contributions
    if own is None or declared is None:
        return
    tried = sorted({min(own.ticks, max(1, round(times * own.at_most))) for times in _TIMES})
    for at_most in tried:
        changed = declared.model_copy(update={"at_most": at_most})
        yield operator.model_copy(update={"contributions": changed})


def _cap(row: Row[AggregateUtility]) -> PersonalCap:
    cap = cap_of(row.candidate.mechanism)
    assert cap is not None
    return cap


def _error(row: Row[AggregateUtility]) -> Estimate:
    return row.utility.errors.absolute
