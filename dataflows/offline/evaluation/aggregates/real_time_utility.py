"""How far estimates of a series are from it, and how often their error bars hold it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from fugu.dataflows.offline.evaluation.aggregates.figures import Figures
from fugu.dataflows.offline.evaluation.aggregates.utility import AggregateUtility, Errors, Truth
from fugu.dataflows.offline.evaluation.estimates import Estimate, mean_of_runs, three_digits
from fugu.dataflows.offline.evaluation.utility import Cells
from fugu.operators.mechanism import Array

ESTIMATES = "Errors of estimates, and how often their 95 % bars hold the true figure"
BARS = 1.96
"""Standard errors each way."""


@dataclass(frozen=True, eq=False)
class RealTimeUtility(AggregateUtility):
    """`of_series` is the error of a whole series, `held` the share of figures within their bars;
    None where no standard error is said."""

    of_series: Estimate
    held: Estimate | None

    @classmethod
    def measured(cls, truth: Truth, runs: Sequence[Figures]) -> Self:
        """All runs of one row."""
        held = [_share_held(truth, run) for run in runs if not np.isnan(run.noise).all()]
        return cls(
            **vars(AggregateUtility.of(truth, runs, None)),
            of_series=error_of_series(truth, [run.values for run in runs]),
            held=_mean(held) if held else None,
        )

    def document(self) -> dict[str, object]:
        """Everything but the series, for a machine."""
        return {
            "relative_error": self.of_series.document(),
            **super().document(),
            "coverage": None if self.held is None else self.held.document(),
        }

    def tables(self) -> Mapping[str, Cells]:
        """One."""
        return {
            ESTIMATES: {
                **error_cells(self.of_series, self.errors),
                "held": "—" if self.held is None else f"{self.held.value:.1%}",
                "new": f"{self.share.value:.0%}",
            }
        }


def error_cells(of_series: Estimate, errors: Errors) -> Cells:
    """What every row of the table has; one of them says how sure it is."""
    return {
        "RE": three_digits(of_series.value),
        "MAE": errors.absolute.relative(),
        "MSE": three_digits(errors.squared.value),
    }


def error_of_series(truth: Truth, runs: Sequence[Array]) -> Estimate:
    """The length of all errors of a group over ticks and the largest figure; the mean of groups."""
    largest = np.maximum(np.abs(truth.figures).max(axis=0), truth.smallest)
    lengths = [np.sqrt(((values - truth.figures) ** 2.0).sum(axis=0)) for values in runs]
    return _mean([float(np.mean(one / largest)) / len(truth.figures) for one in lengths])


def _share_held(truth: Truth, run: Figures) -> float:
    """Of figures that have bars."""
    said = ~np.isnan(run.noise)
    distances = np.abs(run.values - truth.figures)
    return float(np.mean(distances[said] <= BARS * run.noise[said]))


def _mean(per_run: Sequence[float]) -> Estimate:
    mean, deviation = mean_of_runs(np.array(per_run))
    return Estimate(float(mean), float(deviation))
