"""Measure what candidates did to a sample, tick by tick."""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from fugu.dataflows.offline.evaluation.estimates import (
    NO_ESTIMATE,
    Estimate,
    estimates,
    mean_per_record,
)
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.offline.evaluation.temporal.displaced import Displaced
from fugu.dataflows.offline.evaluation.temporal.numbers import Numbers
from fugu.dataflows.offline.evaluation.temporal.series import (
    latest,
    moving_average,
    running,
    squared_errors,
)
from fugu.dataflows.offline.evaluation.temporal.utility import (
    ErrorsOfAverage,
    ErrorsOfCount,
    MeasuredCosts,
    TemporalUtility,
)
from fugu.operators.mechanism import Array, Floats, Integers, Mechanism
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.temporal.dispatch_law import Costs, Expected
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation

Series = Callable[[Displaced, Integers], Floats]
"""Computes what readers see of a run if these records are in its ticks."""


@dataclass(frozen=True, eq=False)
class TemporalMeasure:
    """Compare what left with what came, tick by tick; `numbers` is None where values are none."""

    sample: Sample
    costs: Costs
    numbers: Numbers | None
    tick_milliseconds: int | None = None

    def displacing(
        self, mechanism: TemporalPerturbation, runs: Sequence[Displaced]
    ) -> TemporalUtility:
        """Measure all runs of a mechanism that displaces values."""
        lag = round(float(mechanism.delay_law @ np.arange(mechanism.k)))
        fill = 1.0 - mechanism.expected.empty
        value = count = average = None
        if self.numbers is not None:

            def errors(series: Series, fill: float = 1.0, lag: int = 0) -> Estimate:
                made = [series(run, run.released) / fill for run in runs]
                return self._errors(runs, [series(run, run.held) for run in runs], made, lag)

            known = self.numbers.values
            left = [_of_records(known, run.released, np.nan) for run in runs]
            value = self._value(runs, left)
            counted, averaged = self._count, self._average
            count = ErrorsOfCount(
                errors(counted), errors(counted, fill), errors(counted, fill, lag)
            )
            average = ErrorsOfAverage(errors(averaged), errors(averaged, lag=lag))
        return TemporalUtility(
            costs=self._priced([_costs(run, mechanism.k) for run in runs]),
            expected=self._priced([_with_gaps(mechanism.expected, run) for run in runs]),
            value=value,
            count=count,
            average=average,
            lag=lag,
            fill=fill,
            delay_law_epsilon=mechanism.delay_law_epsilon,
            tick_milliseconds=self.tick_milliseconds,
        )

    def changing(
        self, mechanism: Mechanism, ticks: Displaced, runs: Sequence[Floats]
    ) -> TemporalUtility:
        """Measure all runs of a baseline: what it made of the value of each record."""
        noisy = [_of_records(values, ticks.held, np.nan) for values in runs]
        first, count, average = ticks.first, ErrorsOfCount(), ErrorsOfAverage()
        value = NO_ESTIMATE

        def errors(series: Series, made: list[Floats]) -> Estimate:
            times = [ticks] * len(made)
            return self._errors(times, [series(ticks, ticks.held)] * len(made), made)

        if isinstance(mechanism, GeneralizedRandomizedResponse):
            p, q = mechanism.reported_if_true, mechanism.reported_if_other
            records = running(np.where(ticks.held < 0, 0.0, 1.0), first)
            counts = [running(np.nan_to_num(symbols), first) for symbols in noisy]
            debiased = [(counted - records * q) / (p - q) for counted in counts]
            count = ErrorsOfCount(errors(self._count, counts), errors(self._count, debiased))
        else:
            averages = [self._averaged(values, first) for values in noisy]
            average = ErrorsOfAverage(errors(self._average, averages))
            value = self._value([ticks] * len(noisy), noisy)
        nothing = MeasuredCosts()
        return TemporalUtility(nothing, nothing, value, count, average, 0, 1.0, None)

    def guess(self, ticks: Displaced) -> float:
        """Return the mean absolute error of the best constant, which is the median."""
        assert self.numbers is not None
        values = _of_records(self.numbers.values, ticks.held, np.nan)
        return float(np.nanmean(np.abs(values - np.nanmedian(values))))

    def _value(self, runs: Sequence[Displaced], made: Sequence[Floats]) -> Estimate:
        """Return the mean absolute error of the last value at each tick to which one came."""
        assert self.numbers is not None
        came = [_of_records(self.numbers.values, run.held, np.nan) for run in runs]
        errors = [
            np.abs(latest(shown, run.first) - truth)
            for run, shown, truth in zip(runs, made, came, strict=True)
        ]
        return self._mean(runs, errors)

    def _count(self, run: Displaced, records: Integers) -> Floats:
        assert self.numbers is not None
        return running(_of_records(self.numbers.above, records, 0.0), run.first)

    def _average(self, run: Displaced, records: Integers) -> Floats:
        assert self.numbers is not None
        return self._averaged(_of_records(self.numbers.values, records, np.nan), run.first)

    def _averaged(self, values: Floats, first: Integers) -> Floats:
        assert self.numbers is not None
        return moving_average(values, first, self.numbers.reading.average)

    def _priced(self, runs: Sequence[Expected]) -> MeasuredCosts:
        return MeasuredCosts(*estimates([[*astuple(one), self.costs.of(one)] for one in runs]))

    def _errors(
        self,
        runs: Sequence[Displaced],
        truths: Sequence[Floats],
        made: Sequence[Floats],
        lag: int = 0,
    ) -> Estimate:
        """Return the mean squared error over all ticks and runs."""
        errors = [
            squared_errors(truth, estimate, run.first, lag)
            for run, truth, estimate in zip(runs, truths, made, strict=True)
        ]
        return self._mean(runs, errors)

    def _mean(self, runs: Sequence[Displaced], errors: Sequence[Floats]) -> Estimate:
        """Return the mean over all ticks and runs; NaN is left out."""
        totals, counts, count = [], [], self.sample.stream_count
        for run, found in zip(runs, errors, strict=True):
            known = ~np.isnan(found)
            streams = run.streams[known]
            totals.append(np.bincount(streams, found[known], count))
            counts.append(np.bincount(streams, minlength=count).astype(np.float64))
        return mean_per_record(np.stack(totals), np.stack(counts))


def _of_records(values: Array, records: Integers, none: float) -> Floats:
    return np.where(records < 0, none, values[records])


def _costs(run: Displaced, k: int) -> Expected:
    """Count values whose whole window is in the run, and ticks after the first window."""
    came = run.whole_windows(k)
    records, left = run.held[came], run.released >= 0
    if not len(records):
        return Expected(np.nan, np.nan, np.nan, np.nan)
    size = int(max(run.held.max(), run.released.max())) + 1
    copies = np.bincount(run.released[left], minlength=size)[records]
    at = np.zeros(size, dtype=np.int64)
    at[run.released[left][::-1]] = run.ticks[left][::-1]
    waited = np.where(copies > 0, at[records] - run.ticks[came], 0)
    return Expected(
        missing=float(np.mean(copies == 0)),
        repeated=float(np.mean(np.maximum(copies - 1, 0))),
        empty=float(np.mean(~left[run.numbers >= k])),
        delay=float(np.mean(waited)),
    )


def _with_gaps(expected: Expected, run: Displaced) -> Expected:
    """Count a tick as empty too if nothing came to the one that its value would be of."""
    gaps = float(np.mean(run.held < 0))
    return replace(expected, empty=expected.empty + (1.0 - expected.empty) * gaps)
