"""How useful releases of numbers are: one by one, and for their mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan, sqrt
from typing import Protocol, runtime_checkable

import numpy as np

from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.estimates import Estimate, mean_per_record
from fugu.dataflows.offline.evaluation.run import Run
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.offline.evaluation.utility import Cells, Lines, Spending, mean_cost
from fugu.operators.mechanism import Array, Kind


@runtime_checkable
class NoisyNumbers(Protocol):
    """A mechanism whose fresh releases have noise of mean 0 and a public standard deviation."""

    @property
    def standard_deviation(self) -> float: ...


@dataclass(frozen=True)
class NumberUtility:
    """In the unit of what is published. `bias` and `root_mean_square` are of everything published.

    `mean_bias` is the difference between the mean of fresh releases and that of all true numbers,
    over all runs, and `mean_error` its root mean square in one run; both are NaN where nothing
    fresh was released. `predicted` is what a reader expects of it, from the noise alone.
    """

    true_mean: float
    bias: Estimate
    root_mean_square: Estimate
    mean_bias: Estimate
    mean_error: float
    predicted: float | None
    spending: Spending

    def document(self) -> dict[str, object]:
        """Everything, for a machine."""
        return {
            "true_mean": self.true_mean,
            "bias": self.bias.document(),
            "root_mean_square": self.root_mean_square.document(),
            "mean_bias": self.mean_bias.document(),
            "mean_error": self.mean_error,
            "predicted_mean_error": self.predicted,
            **self.spending.document(),
        }

    def tables(self) -> Mapping[str, Cells]:
        """Single releases, and their mean."""
        return {
            "Single releases": {
                "bias": self.bias.rounded("+"),
                "RMS error": self.root_mean_square.rounded(),
            },
            **self.spending.tables(),
            "The mean of all records": {
                "true": _number(self.true_mean),
                "bias": self.mean_bias.rounded("+"),
                "RMS error": _number(self.mean_error),
                "predicted": _number(self.predicted),
            },
        }

    def panels(self) -> Mapping[str, Lines]:
        """Both errors, and what was predicted of the mean."""
        of_mean = {
            "": self.mean_error,
            "predicted": nan if self.predicted is None else self.predicted,
        }
        return {
            "RMS error of one release": {"": self.root_mean_square},
            "RMS error of the mean": {
                label: Estimate(error, nan) for label, error in of_mean.items()
            },
        }

    def notes(self) -> list[str]:
        """How to read what is not obvious."""
        return [
            "predicted: what a reader expects who knows the noise. A larger error of the mean, and "
            "a bias beyond its ±, come from what lies outside the declared range, or after the "
            "end of a budget.",
        ]

    def own_notes(self) -> list[str]:
        """Nothing."""
        return []


@dataclass(frozen=True)
class NumberMeasure:
    """Compares releases of numbers with the truth, which is read in whole units."""

    units_per_one: int

    def __call__(self, candidate: Candidate, sample: Sample, runs: Sequence[Run]) -> NumberUtility:
        """All runs of one candidate."""

        def difference(truth: Array, released: Array) -> Array:
            return np.asarray(released - truth / self.units_per_one)

        mean = _mean(sample, runs, self.units_per_one)
        truths = [sample.decoded.values[run.records].mean() for run in runs]
        return NumberUtility(
            true_mean=float(np.mean(truths)) / self.units_per_one,
            bias=mean_cost(sample, runs, difference),
            root_mean_square=mean_cost(sample, runs, lambda t, r: difference(t, r) ** 2).root(),
            mean_bias=mean,
            mean_error=_error_of_one_run(mean, len(runs)),
            predicted=_predicted(candidate, runs),
            spending=Spending.of(runs),
        )


def _mean(sample: Sample, runs: Sequence[Run], units_per_one: int) -> Estimate:
    """How far the mean of fresh releases is from the mean of all true numbers."""
    totals, counts = [], []
    for run in runs:
        fresh = run.kinds == Kind.FRESH
        records = run.records[fresh]
        truth = sample.decoded.values[run.records].mean() / units_per_one
        totals.append(sample.by_stream(records, run.releases.values[fresh] - truth))
        counts.append(sample.by_stream(records, np.ones(len(records))))
    return mean_per_record(np.stack(totals), np.stack(counts))


def _error_of_one_run(mean: Estimate, runs: int) -> float:
    """Root mean square: the bias, without what the draws add to it, and the variance of a run."""
    if isnan(mean.standard_error):
        return abs(mean.value)
    of_draws = mean.standard_error**2
    return sqrt(max(0.0, mean.value**2 - of_draws) + runs * of_draws)


def _predicted(candidate: Candidate, runs: Sequence[Run]) -> float | None:
    inside = candidate.unbudgeted
    fresh = float(np.mean([np.count_nonzero(run.kinds == Kind.FRESH) for run in runs]))
    if not isinstance(inside, NoisyNumbers) or fresh == 0.0:
        return None
    return inside.standard_deviation / sqrt(fresh)


def _number(number: float | None) -> str:
    return "—" if number is None else Estimate(number, nan).rounded()
