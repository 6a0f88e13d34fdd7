"""How useful releases of numbers are: one by one, and for their mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Protocol, runtime_checkable

import numpy as np

from dataflows.evaluation.candidates import Candidate
from dataflows.evaluation.estimates import Estimate, mean_of_runs
from dataflows.evaluation.run import Run
from dataflows.evaluation.sample import Sample
from dataflows.evaluation.utility import Cells, Lines, Spending, mean_cost
from operators.mechanism import Array, Kind


@runtime_checkable
class NoisyNumbers(Protocol):
    """A mechanism whose fresh releases have noise of mean 0 and a public standard deviation."""

    @property
    def standard_deviation(self) -> float: ...


@dataclass(frozen=True)
class NumberUtility:
    """In the unit of what is published. `bias` and `root_mean_square` are of everything published.

    `mean_error` is the root mean square, over runs, of the difference between the mean of fresh
    releases and the mean of all true numbers, None where nothing fresh was released; `mean_bias`
    is the mean difference; `predicted` is what a reader expects of it, from noise alone.
    """

    true_mean: float
    bias: Estimate
    root_mean_square: Estimate
    mean_bias: Estimate | None
    mean_error: float | None
    predicted: float | None
    spending: Spending

    def document(self) -> dict[str, object]:
        """Everything, for a machine."""
        return {
            "true_mean": self.true_mean,
            "bias": self.bias.document(),
            "root_mean_square": self.root_mean_square.document(),
            "mean_bias": self.mean_bias and self.mean_bias.document(),
            "mean_error": self.mean_error,
            "predicted_mean_error": self.predicted,
            **self.spending.document(),
        }

    def tables(self) -> Mapping[str, Cells]:
        """Single releases, and their mean."""
        return {
            "Single releases": {
                "bias": self.bias.shown("+.4g"),
                "RMS error": self.root_mean_square.shown(),
            },
            "What streams spent, in nats": self.spending.cells(),
            "The mean of all records": {
                "true": f"{self.true_mean:.6g}",
                "bias": "—" if self.mean_bias is None else self.mean_bias.shown("+.4g"),
                "RMS error": _number(self.mean_error),
                "predicted by a reader": _number(self.predicted),
            },
        }

    def panels(self) -> Mapping[str, Lines]:
        """Both errors, and what was predicted of the mean."""
        of_mean = {"": self.mean_error, "predicted": self.predicted}
        return {
            "RMS error of one release": {"": self.root_mean_square},
            "RMS error of the mean": {
                label: Estimate(error, 0.0) for label, error in of_mean.items() if error is not None
            },
        }

    def notes(self) -> list[str]:
        """How to read what is not obvious."""
        return [
            "predicted: what a reader expects who knows the noise. A larger error of the mean, and "
            "a bias beyond its ±, come from what lies outside the declared range, or after the "
            "end of a budget.",
        ]


@dataclass(frozen=True)
class NumberMeasure:
    """Compares releases of numbers with the truth, which is read in whole units."""

    units_per_one: int

    def __call__(self, candidate: Candidate, sample: Sample, runs: Sequence[Run]) -> NumberUtility:
        """All runs of one candidate."""

        def difference(truth: Array, released: Array) -> Array:
            return np.asarray(released - truth / self.units_per_one)

        fresh = [run.releases.values[run.kinds == Kind.FRESH] for run in runs]
        truths = [sample.decoded.values[run.records] / self.units_per_one for run in runs]
        off = None
        if all(len(some) for some in fresh):
            means = zip(fresh, truths, strict=True)
            off = np.array([some.mean() - truth.mean() for some, truth in means])
        bias, error = (None, None) if off is None else mean_of_runs(off)
        return NumberUtility(
            true_mean=float(np.mean([truth.mean() for truth in truths])),
            bias=mean_cost(sample, runs, difference),
            root_mean_square=mean_cost(sample, runs, lambda t, r: difference(t, r) ** 2).root(),
            mean_bias=None
            if bias is None or error is None
            else Estimate(float(bias), float(error)),
            mean_error=None if off is None else sqrt(float((off**2).mean())),
            predicted=None
            if off is None
            else _predicted(candidate, sum(map(len, fresh)) / len(fresh)),
            spending=Spending.of(runs),
        )


def _predicted(candidate: Candidate, fresh: float) -> float | None:
    inside = candidate.unbudgeted
    return inside.standard_deviation / sqrt(fresh) if isinstance(inside, NoisyNumbers) else None


def _number(number: float | None) -> str:
    return "—" if number is None else f"{number:.4g}"
