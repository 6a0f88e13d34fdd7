"""Measure how useful releases of numbers are: one by one, and for their mean."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan, sqrt

import numpy as np

from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.estimates import NOTHING, Estimate, mean_per_record
from fugu.dataflows.offline.evaluation.ranking import Guess
from fugu.dataflows.offline.evaluation.records.spending import Spending, mean_cost
from fugu.dataflows.offline.evaluation.report import Figure, Utility
from fugu.dataflows.offline.evaluation.run import Run
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.operators.mechanism import Array, Kind
from fugu.operators.noise.number_release import NumberRelease

_SINGLE, _MEAN = "Single releases", "The mean of all records"


@dataclass(frozen=True)
class NumberUtility(Utility):
    """Say how far numbers and their mean are off, in the unit of what is published.

    `bias` and `root_mean_square` are of everything published. `mean_bias` is the difference between
    the mean of fresh releases and that of all true numbers, over all runs, and `mean_error` its
    root mean square in one run; both are NaN where nothing fresh was released. `predicted` is what
    a reader expects of it, from the noise alone.
    """

    true_mean: float
    bias: Estimate
    root_mean_square: Estimate
    mean_bias: Estimate
    mean_error: float
    predicted: float | None
    spending: Spending

    def figures(self) -> Iterator[Figure]:
        bias, error = self.bias.rounded("+"), self.root_mean_square.rounded()
        yield Figure("bias", self.bias, _SINGLE, "bias", bias)
        yield Figure("root_mean_square", self.root_mean_square, _SINGLE, "RMS error", error)
        yield from self.spending.figures()
        yield Figure("true_mean", self.true_mean, _MEAN, "true", _number(self.true_mean))
        yield Figure("mean_bias", self.mean_bias, _MEAN, "bias", self.mean_bias.rounded("+"))
        yield Figure("mean_error", self.mean_error, _MEAN, "RMS error", _number(self.mean_error))
        predicted = _number(self.predicted)
        yield Figure("predicted_mean_error", self.predicted, _MEAN, "predicted", predicted)

    def ranked_by(self) -> tuple[str, Estimate]:
        return "the root mean square error of one release, in the unit of the field", (
            self.root_mean_square
        )


@dataclass(frozen=True)
class NumberMeasure:
    """Compare releases of numbers with the truth, which is read in whole units."""

    units_per_one: int

    def guess(self, sample: Sample) -> Guess:
        """Return how far the mean of all records is from one of them."""
        return Guess(
            "the mean of all records",
            float(np.std(sample.decoded.values)) / self.units_per_one,
            "A single release tells nothing at this privacy, and only means over many do: take a "
            "larger epsilon, or a narrower range",
        )

    def __call__(self, candidate: Candidate, sample: Sample, runs: Sequence[Run]) -> NumberUtility:
        """Measure all runs of one candidate."""

        def difference(truth: Array, released: Array) -> Array:
            return np.asarray(released - truth / self.units_per_one)

        truths = [sample.decoded.values[run.records].mean() for run in runs]
        totals, counts = [], []
        for run, truth in zip(runs, truths, strict=True):
            fresh = run.kinds == Kind.FRESH
            records, values = run.records[fresh], run.releases.values[fresh]
            totals.append(sample.by_stream(records, values - truth / self.units_per_one))
            counts.append(sample.by_stream(records, np.ones(len(records))))
        mean = mean_per_record(np.stack(totals), np.stack(counts))
        return NumberUtility(
            true_mean=float(np.mean(truths)) / self.units_per_one,
            bias=mean_cost(sample, runs, difference),
            root_mean_square=mean_cost(sample, runs, lambda t, r: difference(t, r) ** 2).root(),
            mean_bias=mean,
            mean_error=_error_of_one_run(mean, len(runs)),
            predicted=_predicted(candidate, float(np.sum(counts)) / len(runs)),
            spending=Spending.of(runs),
        )


def _error_of_one_run(mean: Estimate, runs: int) -> float:
    """Return the root mean square: the bias without what draws add to it, and their variance."""
    if isnan(mean.standard_error):
        return abs(mean.value)
    of_draws = mean.standard_error**2
    return sqrt(max(0.0, mean.value**2 - of_draws) + runs * of_draws)


def _predicted(candidate: Candidate, fresh: float) -> float | None:
    inside = candidate.unbudgeted
    if not isinstance(inside, NumberRelease) or fresh == 0.0:
        return None
    return inside.standard_deviation / sqrt(fresh)


def _number(number: float | None) -> str:
    return NOTHING if number is None else Estimate(number).rounded()
