"""Measure what candidates did to a sample, and how far that misleads readers of numbers.

A running count of values above a number, to which an empty tick adds nothing, and a moving average
over the last ticks, which leaves empty ticks out.

>>> first = np.array([0, 0, 0, 3, 3])
>>> running(np.array([1.0, 0, 1, 1, 1]), first).tolist()
[1.0, 1.0, 2.0, 1.0, 2.0]
>>> moving_average(np.array([1.0, np.nan, 3, 5, 9]), first, width=2).tolist()
[1.0, 1.0, 3.0, 5.0, 7.0]
>>> latest(np.array([np.nan, 4.0, np.nan, np.nan, 7.0]), first).tolist()
[nan, 4.0, 4.0, nan, 7.0]
>>> squared_errors(np.array([1.0, 2, 3, 4, 5]), np.array([9.0, 1, 2, 9, 4]), first, lag=1).tolist()
[nan, 0.0, 0.0, nan, 0.0]

Source: TLDP specification, section 9 (FC and SMA); Ye et al. 2021, section V.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from math import isnan

import numpy as np

from fugu.dataflows.offline.evaluation.estimates import (
    NO_ESTIMATE,
    NOTHING,
    Estimate,
    estimates,
    mean_per_record,
    three_digits,
)
from fugu.dataflows.offline.evaluation.report import Figure, Utility
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.offline.evaluation.temporal.displaced import Displaced
from fugu.dataflows.offline.evaluation.temporal.numbers import Numbers
from fugu.operators.mechanism import Array, Floats, Integers, Mechanism
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.temporal.costs import Costs, Expected
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation

VALUE = "Value of a tick"
COUNT = "MSE of the running count"
AVERAGE = "MSE of the moving average"

_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1))

Series = Callable[[Displaced, Integers], Floats]
"""Computes what readers see of a run if these records are in its ticks."""


@dataclass(frozen=True)
class MeasuredCosts:
    """Count missing and repeated values, empty ticks, and ticks of delay; and price them."""

    missing: Estimate = NO_ESTIMATE
    repeated: Estimate = NO_ESTIMATE
    empty: Estimate = NO_ESTIMATE
    delay: Estimate = NO_ESTIMATE
    total: Estimate = NO_ESTIMATE

    def figures(self, key: str, table: str) -> Iterator[Figure]:
        """Return one row of a table."""
        yield Figure(key, _document(self))
        for name in ("missing", "repeated", "empty"):
            yield Figure("", None, table, name, _percent(getattr(self, name)))
        yield Figure("", None, table, "delay", three_digits(self.delay.value))
        yield Figure("", None, table, "total", three_digits(self.total.value))


@dataclass(frozen=True)
class ErrorsOfCount:
    """Measure a count as it is, corrected, and compared with the true one a mean delay earlier.

    It is corrected by the share of ticks that hold a value, or debiased.
    """

    plain: Estimate = NO_ESTIMATE
    filled: Estimate = NO_ESTIMATE
    moved: Estimate = NO_ESTIMATE


@dataclass(frozen=True)
class ErrorsOfAverage:
    """Measure an average as it is, and compared with the true one a mean delay earlier."""

    plain: Estimate = NO_ESTIMATE
    moved: Estimate = NO_ESTIMATE


@dataclass(frozen=True)
class TemporalUtility(Utility):
    """Say what displacing costs in ticks, and what numbers err in the unit of values.

    `value` is the mean absolute error of what a reader has at a tick, which is the last value that
    left, against the value that came at that tick: a late value counts as wrong as it is. It is
    None, as `count` and `average` are, where values are no numbers. `tick_milliseconds` is None
    where a tick is a record. `lag` is the mean delay of values
    that leave, in whole ticks, and `fill` the share of ticks that hold a value while all records
    do; both are public.
    """

    costs: MeasuredCosts
    expected: MeasuredCosts
    value: Estimate | None
    count: ErrorsOfCount | None
    average: ErrorsOfAverage | None
    lag: int
    fill: float
    delay_law_epsilon: float | None
    tick_milliseconds: int | None = None

    def figures(self) -> Iterator[Figure]:
        yield Figure("delay_law_epsilon", self.delay_law_epsilon)
        yield Figure("lag", self.lag)
        yield Figure("fill", self.fill)
        yield from self.costs.figures("costs", "Per value, measured")
        yield from self.expected.figures("expected_costs", "Per value, expected")
        yield Figure("value_error", self.value)
        if self.value is not None:
            yield Figure("", None, VALUE, "mean absolute error", self.value.rounded())
            late = NOTHING if isnan(self.costs.delay.value) else self._delay()
            yield Figure("", None, VALUE, "leaves late by", late)
        for key, errors, table in (
            ("count", self.count, COUNT),
            ("average", self.average, AVERAGE),
        ):
            yield Figure(key, errors and _document(errors))
            for name, one in vars(errors).items() if errors else ():
                yield Figure("", None, table, name, one.relative())
        if self.average is not None:
            lag = NOTHING if isnan(self.average.moved.value) else str(self.lag)
            yield Figure("", None, AVERAGE, "lag", lag)

    def ranked_by(self) -> tuple[str, Estimate]:
        if self.value is None:
            return "the total cost per value (operator.costs)", self.costs.total
        return "the mean absolute error of the last value at a tick, in its own unit", self.value

    def why(self) -> str:
        if isnan(self.costs.total.value):
            return "values are changed, and leave at their own ticks"
        parts = [f"values leave {self._delay()} late"]
        parts += [f"{_percent(self.costs.missing)} never do"] * (self.costs.missing.value > 0.0)
        cost = [f"cost {three_digits(self.costs.total.value)}"] * (self.value is not None)
        return ", ".join([*parts, *cost])

    def _delay(self) -> str:
        """Write the mean delay in ticks, and as a time where ticks are of event time."""
        ticks = self.costs.delay.value
        counted = f"{three_digits(ticks)} ticks"
        if self.tick_milliseconds is None:
            return counted
        return f"{counted} ({_time(ticks * self.tick_milliseconds)})"


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


def running(values: Floats, first: Integers) -> Floats:
    """Sum from the beginning of each stream, which is at `first`."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray(total[1:] - total[first])


def moving_average(values: Floats, first: Integers, width: int) -> Floats:
    """Average the last `width` ticks of the stream, those with NaN left out."""
    there = ~np.isnan(values)
    middle = float(values[there].mean()) if there.any() else 0.0
    ends = np.arange(1, len(values) + 1)
    begins = np.maximum(ends - width, first)
    total = np.concatenate([[0.0], np.cumsum(np.where(there, values - middle, 0.0))])
    counts = np.concatenate([[0], np.cumsum(there)])
    within = counts[ends] - counts[begins]
    with np.errstate(invalid="ignore"):
        return np.asarray(middle + (total[ends] - total[begins]) / within)


def latest(values: Floats, first: Integers) -> Floats:
    """Repeat the last value of the stream at ticks that have none (NaN)."""
    places = np.maximum.accumulate(np.where(np.isnan(values), -1, np.arange(len(values))))
    return np.where(places >= first, values[places], np.nan)


def squared_errors(truth: Floats, estimate: Floats, first: Integers, lag: int = 0) -> Floats:
    """Compare with the truth `lag` ticks before; NaN where the stream had not begun then."""
    before = np.arange(len(truth)) - lag
    known = before >= first
    return np.where(known, (estimate - truth[np.where(known, before, 0)]) ** 2, np.nan)


def _document(found: MeasuredCosts | ErrorsOfCount | ErrorsOfAverage) -> dict[str, object]:
    return {name: None if isnan(one.value) else one for name, one in vars(found).items()}


def _time(milliseconds: float) -> str:
    """Write a time in the largest unit that it is one of.

    >>> _time(181_000.0), _time(0.0)
    ('3.02 min', '0.00 ms')
    """
    unit, length = next((one for one in _UNITS if milliseconds >= one[1]), _UNITS[-1])
    return f"{three_digits(milliseconds / length)} {unit}"


def _percent(share: Estimate) -> str:
    return NOTHING if isnan(share.value) else f"{100.0 * share.value:.2f}%"
