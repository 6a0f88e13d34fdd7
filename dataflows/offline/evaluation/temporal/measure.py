"""Measures what candidates did to a sample."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from fugu.dataflows.offline.evaluation.estimates import Estimate, mean_of_runs, mean_per_record
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.offline.evaluation.temporal.displaced import Displaced
from fugu.dataflows.offline.evaluation.temporal.numbers import Numbers
from fugu.dataflows.offline.evaluation.temporal.series import (
    moving_average,
    running,
    squared_errors,
)
from fugu.dataflows.offline.evaluation.temporal.utility import (
    NO_COSTS,
    ErrorsOfAverage,
    ErrorsOfCount,
    MeasuredCosts,
    TemporalUtility,
)
from fugu.operators.mechanism import Array, Floats, Mechanism
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.temporal.costs import Costs, Expected
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation


@dataclass(frozen=True, eq=False)
class TemporalMeasure:
    """Compares what left with what came, tick by tick; `numbers` is None where values are none."""

    sample: Sample
    costs: Costs
    numbers: Numbers | None

    def displacing(
        self, mechanism: TemporalPerturbation, runs: Sequence[Displaced]
    ) -> TemporalUtility:
        """All runs of a mechanism that displaces values."""
        lag = round(float(mechanism.delay_law @ np.arange(mechanism.k)))
        fill, numbers = 1.0 - mechanism.expected.empty, self.numbers
        return TemporalUtility(
            costs=self._of([_costs(run, mechanism.k) for run in runs]),
            expected=self._of([_with_gaps(mechanism.expected, run) for run in runs]),
            count=None if numbers is None else self._count(numbers, runs, fill, lag),
            average=None if numbers is None else self._average(numbers, runs, lag),
            lag=lag,
            fill=fill,
            delay_law_epsilon=mechanism.delay_law_epsilon,
        )

    def changing(
        self, mechanism: Mechanism, ticks: Displaced, runs: Sequence[Floats]
    ) -> TemporalUtility:
        """All runs of a baseline: what it made of the value of each record."""
        assert self.numbers is not None
        noisy = [np.where(ticks.held < 0, np.nan, values[ticks.held]) for values in runs]
        count, average = ErrorsOfCount(), ErrorsOfAverage()
        if isinstance(mechanism, GeneralizedRandomizedResponse):
            count = self._response(self.numbers, mechanism, ticks, noisy)
        else:
            pairs = [(ticks, values) for values in noisy]
            average = ErrorsOfAverage(plain=self._averages(self.numbers, pairs, lag=0))
        return TemporalUtility(
            costs=NO_COSTS,
            expected=NO_COSTS,
            count=count,
            average=average,
            lag=0,
            fill=1.0,
            delay_law_epsilon=None,
        )

    def _of(self, runs: Sequence[Expected]) -> MeasuredCosts:
        per_run = np.array([[*astuple(one), self.costs.of(one)] for one in runs])
        means, errors = mean_of_runs(per_run)
        return MeasuredCosts(*map(Estimate, means.tolist(), errors.tolist()))

    def _count(
        self, numbers: Numbers, runs: Sequence[Displaced], fill: float, lag: int
    ) -> ErrorsOfCount:
        plain, filled, moved = [], [], []
        for run in runs:
            truth = running(_of_records(numbers.above, run.held, 0.0), run.first)
            counted = running(_of_records(numbers.above, run.released, 0.0), run.first)
            plain.append(squared_errors(truth, counted, run.first))
            filled.append(squared_errors(truth, counted / fill, run.first))
            moved.append(squared_errors(truth, counted / fill, run.first, lag))
        return ErrorsOfCount(*(self._mean(runs, errors) for errors in (plain, filled, moved)))

    def _response(
        self,
        numbers: Numbers,
        mechanism: GeneralizedRandomizedResponse,
        ticks: Displaced,
        noisy: Sequence[Floats],
    ) -> ErrorsOfCount:
        first, p, q = ticks.first, mechanism.reported_if_true, mechanism.reported_if_other
        truth = running(_of_records(numbers.above, ticks.held, 0.0), first)
        records = running(np.where(ticks.held < 0, 0.0, 1.0), first)
        counts = [running(np.nan_to_num(symbols), first) for symbols in noisy]
        plain = [squared_errors(truth, count, first) for count in counts]
        filled = [squared_errors(truth, (count - records * q) / (p - q), first) for count in counts]
        runs = [ticks] * len(noisy)
        return ErrorsOfCount(plain=self._mean(runs, plain), filled=self._mean(runs, filled))

    def _average(self, numbers: Numbers, runs: Sequence[Displaced], lag: int) -> ErrorsOfAverage:
        pairs = [(run, _of_records(numbers.values, run.released, np.nan)) for run in runs]
        return ErrorsOfAverage(
            self._averages(numbers, pairs, lag=0), self._averages(numbers, pairs, lag)
        )

    def _averages(
        self, numbers: Numbers, pairs: Sequence[tuple[Displaced, Floats]], lag: int
    ) -> Estimate:
        """Of what was released at each tick of each run."""
        width, errors = numbers.reading.average, []
        for run, released in pairs:
            held = _of_records(numbers.values, run.held, np.nan)
            truth, average = (
                moving_average(values, run.first, width) for values in (held, released)
            )
            errors.append(squared_errors(truth, average, run.first, lag))
        return self._mean([run for run, _ in pairs], errors)

    def _mean(self, runs: Sequence[Displaced], errors: Sequence[Floats]) -> Estimate:
        totals, counts = [], []
        for run, found in zip(runs, errors, strict=True):
            known = ~np.isnan(found)
            streams, count = run.streams[known], self.sample.stream_count
            totals.append(np.bincount(streams, found[known], count))
            counts.append(np.bincount(streams, minlength=count).astype(np.float64))
        return mean_per_record(np.stack(totals), np.stack(counts))


def _of_records(values: Array, records: Array, none: float) -> Floats:
    return np.where(records < 0, none, values[records])


def _costs(run: Displaced, k: int) -> Expected:
    """Of values whose whole window is in the run, and of ticks after the first window."""
    came = run.whole_windows(k)
    records, left = run.held[came], run.released >= 0
    size = int(max(run.held.max(), run.released.max())) + 1
    copies = np.bincount(run.released[left], minlength=size)[records]
    at = np.zeros(size, dtype=np.int64)
    at[run.released[left][::-1]] = run.ticks[left][::-1]
    waited = np.where(copies > 0, at[records] - run.ticks[came], 0)
    if not len(records):
        return Expected(np.nan, np.nan, np.nan, np.nan)
    return Expected(
        missing=float(np.mean(copies == 0)),
        repeated=float(np.mean(np.maximum(copies - 1, 0))),
        empty=float(np.mean(~left[run.numbers >= k])),
        delay=float(np.mean(waited)),
    )


def _with_gaps(expected: Expected, run: Displaced) -> Expected:
    """A tick is empty too if nothing came to the one that its value would be of."""
    gaps = float(np.mean(run.held < 0))
    return replace(expected, empty=expected.empty + (1.0 - expected.empty) * gaps)
