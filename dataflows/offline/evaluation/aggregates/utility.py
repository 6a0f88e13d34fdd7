"""How far figures are from the true ones, and how often something new is published."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fugu.dataflows.offline.evaluation.aggregates.figures import Figures, Summed
from fugu.dataflows.offline.evaluation.estimates import Estimate, mean_of_runs, three_digits
from fugu.dataflows.offline.evaluation.utility import Cells, Lines
from fugu.operators.mechanism import Array, Floats, Integers

ERRORS = "Errors of figures: absolute, squared, and relative to the truth"
PUBLICATIONS = "Quantiles of absolute errors, and how often something new is published"


@dataclass(frozen=True)
class Spread:
    """Quantiles of distances to the truth, over ticks, groups and runs: 5, 25, 50, 75 and 95 %."""

    low: float
    lower: float
    median: float
    upper: float
    high: float

    @classmethod
    def of(cls, distances: Array) -> "Spread":
        """Of distances in any order."""
        return cls(*np.quantile(distances, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist())

    def cells(self) -> Cells:
        """Two of them, in a row of a table."""
        return {"median": three_digits(self.median), "95 %": three_digits(self.high)}

    def document(self) -> dict[str, float]:
        """For a machine."""
        return {
            "5%": self.low,
            "25%": self.lower,
            "50%": self.median,
            "75%": self.upper,
            "95%": self.high,
        }


@dataclass(frozen=True)
class Errors:
    """Means over ticks and groups: of distances to the truth, of their squares, and of distances
    relative to the truth; and how distances are spread."""

    absolute: Estimate
    squared: Estimate
    relative: Estimate
    spread: Spread

    def cells(self) -> Cells:
        """One row of a table."""
        return {
            "MAE": self.absolute.relative(),
            "MSE": self.squared.relative(),
            "MRE": f"{three_digits(100.0 * self.relative.value)}%",
        }


@dataclass(frozen=True, eq=False)
class Truth:
    """The true figures, `(ticks, groups)`, in units of which `units_per_one` make 1.

    Errors are relative to a figure, or to `smallest` units where it is smaller.
    """

    figures: Integers
    units_per_one: int
    smallest: int

    @classmethod
    def of(cls, summed: Summed) -> "Truth":
        """Of a sample; nothing smaller than one contribution is what errors are relative to."""
        operator = summed.operator
        return cls(
            summed.truth(),
            units_per_one=operator.units_per_one,
            smallest=operator.largest_contribution,
        )

    @property
    def mean(self) -> float:
        """Over all ticks and groups: the best guess that is always the same, by its MSE."""
        return float(np.mean(self.figures)) / self.units_per_one

    @property
    def largest_group(self) -> int:
        """The group with most in all ticks together."""
        return int(np.argmax(self.figures.sum(axis=0)))

    def in_ones(self, units: Array) -> Floats:
        """As the pipeline writes them."""
        return np.asarray(units / self.units_per_one, dtype=np.float64)

    def errors(self, runs: Sequence[Array]) -> Errors:
        """Of figures in units; standard errors are from run to run."""
        per_run = np.array([self._errors_of(values) for values in runs])
        means, deviations = mean_of_runs(per_run)
        distances = self.in_ones(np.abs(np.stack(runs) - self.figures))
        absolute, squared, relative = map(Estimate, means.tolist(), deviations.tolist())
        return Errors(absolute, squared, relative, Spread.of(distances))

    def constant(self) -> Floats:
        """The mean, in place of every release."""
        return np.full(self.figures.shape, self.mean * self.units_per_one)

    def constant_guess(self) -> Errors:
        """What it errs; one run can have no standard error."""
        return self.errors([self.constant()])

    def _errors_of(self, values: Array) -> list[float]:
        distances = np.abs(values - self.figures)
        relative = distances / np.maximum(np.abs(self.figures), self.smallest)
        ones = self.in_ones(distances)
        return [float(np.mean(one)) for one in (ones, ones**2, relative)]


@dataclass(frozen=True)
class Series:
    """One group in one run, tick by tick, as the pipeline writes it."""

    values: Floats
    noise: Floats


@dataclass(frozen=True, eq=False)
class AggregateUtility:
    """`publications` are those of a run of so many `ticks`; `series` is of the largest group in the
    first run. `window` is None where all candidates have the same."""

    window: int | None
    errors: Errors
    publications: Estimate
    ticks: int
    series: Series

    @classmethod
    def of(cls, truth: Truth, runs: Sequence[Figures], window: int | None) -> "AggregateUtility":
        """All runs of one candidate."""
        published = np.array([float(np.count_nonzero(run.published)) for run in runs])
        mean, deviation = mean_of_runs(published)
        first, group = runs[0], truth.largest_group
        return cls(
            window,
            truth.errors([run.values for run in runs]),
            Estimate(float(mean), float(deviation)),
            len(first.published),
            Series(truth.in_ones(first.values[:, group]), truth.in_ones(first.noise[:, group])),
        )

    @property
    def share(self) -> Estimate:
        """Of ticks that publish something new."""
        return self.publications.scaled(1.0 / self.ticks)

    def document(self) -> dict[str, object]:
        """Everything but the series, for a machine."""
        return {
            **errors_document(self.errors),
            "publications": self.publications.document(),
            "share_of_ticks": self.share.document(),
        }

    def tables(self) -> Mapping[str, Cells]:
        """Errors and publications."""
        window = {"window": "—" if self.window is None else f"{self.window:,}"}
        return {
            ERRORS: {**window, **self.errors.cells()},
            PUBLICATIONS: {
                **window,
                **self.errors.spread.cells(),
                "in a run": self.publications.relative(),
                "of ticks": f"{self.share.value:.1%}",
            },
        }

    def panels(self) -> Mapping[str, Lines]:
        """None: the picture of aggregates is one of its own."""
        return {}

    def notes(self) -> list[str]:
        """The report has them, which knows the sample."""
        return []

    def own_notes(self) -> list[str]:
        """None."""
        return []


def errors_document(errors: Errors) -> dict[str, object]:
    """For a machine; standard errors that cannot be told are None."""
    means = {"absolute": errors.absolute, "squared": errors.squared, "relative": errors.relative}
    return {
        f"mean_{name}_error": {
            key: None if value != value else value for key, value in mean.document().items()
        }
        for name, mean in means.items()
    } | {"absolute_error_quantiles": errors.spread.document()}
