"""Say what displacing values costs, and how far that misleads readers of numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan

from fugu.dataflows.offline.evaluation.estimates import NO_ESTIMATE, NOTHING, Estimate, three_digits
from fugu.dataflows.offline.evaluation.report import Figure, Utility

VALUE = "Value of a tick"
COUNT = "MSE of the running count"
AVERAGE = "MSE of the moving average"

_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1))


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
