"""Measure what candidates did to a sample."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from fugu.dataflows.offline.evaluation.estimates import Estimate, estimates, mean_per_record
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.offline.evaluation.temporal.displaced import Displaced
from fugu.dataflows.offline.evaluation.temporal.numbers import Numbers
from fugu.dataflows.offline.evaluation.temporal.series import (
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
from fugu.operators.temporal.costs import Costs, Expected
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation


@dataclass(frozen=True, eq=False)
class TemporalMeasure:
    """Compare what left with what came, tick by tick; `numbers` is None where values are none."""

    sample: Sample
    costs: Costs
    numbers: Numbers | None

    def displacing(
        self, mechanism: TemporalPerturbation, runs: Sequence[Displaced]
    ) -> TemporalUtility:
        """Measure all runs of a mechanism that displaces values."""
        lag = round(float(mechanism.delay_law @ np.arange(mechanism.k)))
        fill, numbers = 1.0 - mechanism.expected.empty, self.numbers
        count = average = None
        if numbers is not None:
            truths = [_count(numbers, run, run.held) for run in runs]
            counts = [_count(numbers, run, run.released) for run in runs]
            filled = [counted / fill for counted in counts]
            count = ErrorsOfCount(
                self._errors(runs, truths, counts),
                self._errors(runs, truths, filled),
                self._errors(runs, truths, filled, lag),
            )
            truths = [_average(numbers, run, run.held) for run in runs]
            averages = [_average(numbers, run, run.released) for run in runs]
            average = ErrorsOfAverage(
                self._errors(runs, truths, averages), self._errors(runs, truths, averages, lag)
            )
        return TemporalUtility(
            costs=self._priced([_costs(run, mechanism.k) for run in runs]),
            expected=self._priced([_with_gaps(mechanism.expected, run) for run in runs]),
            count=count,
            average=average,
            lag=lag,
            fill=fill,
            delay_law_epsilon=mechanism.delay_law_epsilon,
        )

    def changing(
        self, mechanism: Mechanism, ticks: Displaced, runs: Sequence[Floats]
    ) -> TemporalUtility:
        """Measure all runs of a baseline: what it made of the value of each record."""
        assert self.numbers is not None
        noisy = [_of_records(values, ticks.held, np.nan) for values in runs]
        times, first = [ticks] * len(noisy), ticks.first
        count, average = ErrorsOfCount(), ErrorsOfAverage()
        if isinstance(mechanism, GeneralizedRandomizedResponse):
            p, q = mechanism.reported_if_true, mechanism.reported_if_other
            records = running(np.where(ticks.held < 0, 0.0, 1.0), first)
            truths = [_count(self.numbers, ticks, ticks.held)] * len(noisy)
            counts = [running(np.nan_to_num(symbols), first) for symbols in noisy]
            debiased = [(counted - records * q) / (p - q) for counted in counts]
            plain, filled = (self._errors(times, truths, made) for made in (counts, debiased))
            count = ErrorsOfCount(plain, filled)
        else:
            width = self.numbers.reading.average
            truths = [_average(self.numbers, ticks, ticks.held)] * len(noisy)
            averages = [moving_average(values, first, width) for values in noisy]
            average = ErrorsOfAverage(self._errors(times, truths, averages))
        nothing = MeasuredCosts()
        return TemporalUtility(nothing, nothing, count, average, 0, 1.0, None)

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
        totals, counts, count = [], [], self.sample.stream_count
        for run, truth, estimate in zip(runs, truths, made, strict=True):
            found = squared_errors(truth, estimate, run.first, lag)
            known = ~np.isnan(found)
            streams = run.streams[known]
            totals.append(np.bincount(streams, found[known], count))
            counts.append(np.bincount(streams, minlength=count).astype(np.float64))
        return mean_per_record(np.stack(totals), np.stack(counts))


def _of_records(values: Array, records: Integers, none: float) -> Floats:
    return np.where(records < 0, none, values[records])


def _count(numbers: Numbers, run: Displaced, records: Integers) -> Floats:
    return running(_of_records(numbers.above, records, 0.0), run.first)


def _average(numbers: Numbers, run: Displaced, records: Integers) -> Floats:
    values = _of_records(numbers.values, records, np.nan)
    return moving_average(values, run.first, numbers.reading.average)


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
