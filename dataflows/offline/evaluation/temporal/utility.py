"""State what displacing values costs, and how far it misleads readers of numbers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isnan

from fugu.dataflows.offline.evaluation.estimates import NO_ESTIMATE, NOTHING, Estimate, three_digits
from fugu.dataflows.offline.evaluation.report import Figure, Points, Utility

COUNT = "MSE of the running count"
AVERAGE = "MSE of the moving average"


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

    `count` and `average` are None where values are no numbers. `lag` is the mean delay of values
    that leave, in whole ticks, and `fill` the share of ticks that hold a value while all records
    do; both are public.
    """

    costs: MeasuredCosts
    expected: MeasuredCosts
    count: ErrorsOfCount | None
    average: ErrorsOfAverage | None
    lag: int
    fill: float
    delay_law_epsilon: float | None

    def figures(self) -> Iterator[Figure]:
        yield Figure("delay_law_epsilon", self.delay_law_epsilon)
        yield Figure("lag", self.lag)
        yield Figure("fill", self.fill)
        yield from self.costs.figures("costs", "Per value, measured")
        yield from self.expected.figures("expected_costs", "Per value, expected")
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

    def panels(self) -> Mapping[str, Points]:
        panels = {"total cost per value": _points({"": self.costs.total})}
        if self.count is not None and self.average is not None:
            best = self.count.filled if isnan(self.count.moved.value) else self.count.moved
            panels[COUNT] = _points({"": self.count.plain, "corrected": best})
            panels[AVERAGE] = _points({"": self.average.plain, "corrected": self.average.moved})
        return panels


def _document(found: MeasuredCosts | ErrorsOfCount | ErrorsOfAverage) -> dict[str, object]:
    return {name: None if isnan(one.value) else one for name, one in vars(found).items()}


def _points(measured: Points) -> Points:
    return {label: one for label, one in measured.items() if not isnan(one.value)}


def _percent(share: Estimate) -> str:
    return NOTHING if isnan(share.value) else f"{100.0 * share.value:.2f}%"
