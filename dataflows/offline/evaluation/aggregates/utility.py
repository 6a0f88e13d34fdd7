"""Measure how far figures are from the true ones, and how often something new is published."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from fugu.dataflows.offline.evaluation.aggregates.figures import Figures, Summed
from fugu.dataflows.offline.evaluation.estimates import (
    NOTHING,
    Estimate,
    estimate,
    estimates,
    three_digits,
)
from fugu.dataflows.offline.evaluation.report import Cells, Figure, Utility
from fugu.operators.mechanism import Array, Floats, Integers

ERRORS = "Errors of figures: absolute, squared, and relative to the truth"
PUBLICATIONS = "Quantiles of absolute errors, and how often something new is published"
ESTIMATES = "Errors of estimates, and how often their 95 % bars hold the true figure"
BARS = 1.96
"""Standard errors each way."""


@dataclass(frozen=True)
class Spread:
    """Hold quantiles of distances to the truth, over ticks, groups and runs: 5 to 95 %."""

    low: float
    lower: float
    median: float
    upper: float
    high: float

    def cells(self) -> Cells:
        """Return two of them, in a row of a table."""
        return {"median": three_digits(self.median), "95 %": three_digits(self.high)}

    def document(self) -> dict[str, float]:
        """Return them for a machine."""
        return dict(zip(("5%", "25%", "50%", "75%", "95%"), vars(self).values(), strict=True))


@dataclass(frozen=True)
class Errors:
    """Average over ticks and groups: distances to the truth, squares, and relative distances."""

    absolute: Estimate
    squared: Estimate
    relative: Estimate
    spread: Spread

    def figures(self) -> Iterator[Figure]:
        """Return them as rows of two tables."""
        absolute, squared = self.absolute.relative(), self.squared.relative()
        relative = f"{three_digits(100.0 * self.relative.value)}%"
        yield Figure("mean_absolute_error", self.absolute, ERRORS, "MAE", absolute)
        yield Figure("mean_squared_error", self.squared, ERRORS, "MSE", squared)
        yield Figure("mean_relative_error", self.relative, ERRORS, "MRE", relative)
        yield Figure("absolute_error_quantiles", self.spread.document())
        for column, cell in self.spread.cells().items():
            yield Figure("", None, PUBLICATIONS, column, cell)


@dataclass(frozen=True, eq=False)
class Truth:
    """Hold the true figures, `(ticks, groups)`, in units of which `units_per_one` make 1.

    Errors are relative to a figure, or to `smallest` units where it is smaller.
    """

    figures: Integers
    units_per_one: int
    smallest: int

    @classmethod
    def of(cls, summed: Summed) -> "Truth":
        """Sum a sample; nothing smaller than one contribution is what errors are relative to."""
        operator = summed.operator
        return cls(summed.truth(), operator.units_per_one, operator.largest_contribution)

    @property
    def mean(self) -> float:
        """Average all ticks and groups: by its MSE the best guess that is always the same."""
        return float(np.mean(self.figures)) / self.units_per_one

    @property
    def largest_group(self) -> int:
        """Return the group with most in all ticks together."""
        return int(np.argmax(self.figures.sum(axis=0)))

    def in_ones(self, units: Array) -> Floats:
        """Write figures as the pipeline does."""
        return np.asarray(units / self.units_per_one, dtype=np.float64)

    def errors(self, runs: Sequence[Array]) -> Errors:
        """Measure figures in units; standard errors are from run to run."""
        units = np.abs(np.stack(runs) - self.figures)
        ones, shares = self.in_ones(units), units / np.maximum(np.abs(self.figures), self.smallest)
        by_run = zip(ones, ones**2, shares, strict=True)
        means = [[float(np.mean(errors)) for errors in run] for run in by_run]
        absolute, squared, relative = estimates(means)
        quantiles = np.quantile(ones, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist()
        return Errors(absolute, squared, relative, Spread(*quantiles))

    def by_tick(self, runs: Sequence[Array]) -> Floats:
        """Return the mean absolute error of every tick, over groups and runs."""
        return self.in_ones(np.abs(np.stack(runs) - self.figures).mean(axis=(0, 2)))

    def error_of_series(self, runs: Sequence[Array]) -> Estimate:
        """Divide the length of all errors of a group by its ticks and largest figure.

        Return the mean of groups.
        """
        largest = np.maximum(np.abs(self.figures).max(axis=0), self.smallest)
        lengths = [np.sqrt(((values - self.figures) ** 2.0).sum(axis=0)) for values in runs]
        return estimate([float(np.mean(one / largest)) / len(self.figures) for one in lengths])

    def share_held(self, run: Figures) -> float:
        """Return the share of figures within their bars, of those that have bars."""
        said = ~np.isnan(run.noise)
        distances = np.abs(run.values - self.figures)
        return float(np.mean(distances[said] <= BARS * run.noise[said]))

    def constant(self) -> Floats:
        """Return the mean, in place of every release."""
        return np.full(self.figures.shape, self.mean * self.units_per_one)

    def constant_guess(self) -> Errors:
        """Measure what it errs; one run can have no standard error."""
        return self.errors([self.constant()])


@dataclass(frozen=True, eq=False)
class AggregateUtility(Utility):
    """Say how far figures are off, and how often something new is published.

    `publications` are those of a run of so many `ticks`; `series` is of the largest group in the
    first run. `window` is None where all candidates have the same.
    """

    window: int | None
    errors: Errors
    publications: Estimate
    ticks: int
    series: Figures
    by_tick: Floats
    """Mean absolute errors, tick by tick."""

    def ranked_by(self) -> tuple[str, Estimate]:
        what = "the mean absolute error of a figure at a tick, repeated or not, in its own unit"
        return what, self.errors.absolute

    def why(self) -> str:
        return f"publishes at {self.publications.value / self.ticks:.0%} of ticks"

    @classmethod
    def of(cls, truth: Truth, runs: Sequence[Figures], window: int | None) -> "AggregateUtility":
        """Measure all runs of one candidate."""
        first, group, values = runs[0], truth.largest_group, [run.values for run in runs]
        return AggregateUtility(
            window,
            truth.errors(values),
            estimate([float(np.count_nonzero(run.published)) for run in runs]),
            len(first.published),
            Figures(
                truth.in_ones(first.values[:, group]),
                first.published,
                truth.in_ones(first.noise[:, group]),
            ),
            truth.by_tick(values),
        )

    @property
    def share(self) -> Estimate:
        """Return the share of ticks that publish something new."""
        return self.publications.scaled(1.0 / self.ticks)

    def figures(self) -> Iterator[Figure]:
        window = NOTHING if self.window is None else f"{self.window:,}"
        yield from (Figure("", None, table, "window", window) for table in (ERRORS, PUBLICATIONS))
        yield from self.errors.figures()
        in_a_run, share = self.publications.relative(), f"{self.share.value:.1%}"
        yield Figure("publications", self.publications, PUBLICATIONS, "in a run", in_a_run)
        yield Figure("share_of_ticks", self.share, PUBLICATIONS, "of ticks", share)


@dataclass(frozen=True, eq=False)
class RealTimeUtility(AggregateUtility):
    """Say how far estimates of a series are from it, and how often their error bars hold it.

    `of_series` is the error of a whole series, `held` the share of figures within their bars; None
    where no standard error is said.
    """

    of_series: Estimate
    held: Estimate | None

    @classmethod
    def measured(cls, truth: Truth, runs: Sequence[Figures]) -> Self:
        held = [truth.share_held(run) for run in runs if not np.isnan(run.noise).all()]
        return cls(
            **vars(AggregateUtility.of(truth, runs, None)),
            of_series=truth.error_of_series([run.values for run in runs]),
            held=estimate(held) if held else None,
        )

    def figures(self) -> Iterator[Figure]:
        yield Figure("relative_error", self.of_series)
        yield from (one._replace(table="") for one in super().figures())
        held = NOTHING if self.held is None else f"{self.held.value:.1%}"
        for column, cell in error_cells(self.of_series, self.errors).items():
            yield Figure("", None, ESTIMATES, column, cell)
        yield Figure("coverage", self.held, ESTIMATES, "held", held)
        yield Figure("", None, ESTIMATES, "new", f"{self.share.value:.0%}")


def error_cells(of_series: Estimate, errors: Errors) -> Cells:
    """Return the cells that every row has; one of them says how sure it is."""
    return {
        "RE": three_digits(of_series.value),
        "MAE": errors.absolute.relative(),
        "MSE": three_digits(errors.squared.value),
    }
