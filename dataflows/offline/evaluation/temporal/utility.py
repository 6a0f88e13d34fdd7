"""What displacing values costs, and how far it leads readers of numbers astray."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isnan, nan

from fugu.dataflows.offline.evaluation.estimates import Estimate, three_digits
from fugu.dataflows.offline.evaluation.utility import Cells, Lines

COUNT = "MSE of the running count"
AVERAGE = "MSE of the moving average"
_NOT_MEASURED = Estimate(nan, nan)


@dataclass(frozen=True)
class MeasuredCosts:
    """Per value: missing and repeated ones, empty ticks, and ticks of delay; and all together."""

    missing: Estimate
    repeated: Estimate
    empty: Estimate
    delay: Estimate
    total: Estimate

    def cells(self) -> Cells:
        """One row of a table."""
        shares = {name: getattr(self, name) for name in ("missing", "repeated", "empty")}
        return {
            **{name: _percent(share.value) for name, share in shares.items()},
            "delay": three_digits(self.delay.value),
            "total": three_digits(self.total.value),
        }


NO_COSTS = MeasuredCosts(*[_NOT_MEASURED] * 5)


@dataclass(frozen=True)
class ErrorsOfCount:
    """Mean squared errors of the count as it is, divided by the share of ticks that hold a value
    (or debiased), and compared with the true one a mean delay earlier too."""

    plain: Estimate = _NOT_MEASURED
    filled: Estimate = _NOT_MEASURED
    moved: Estimate = _NOT_MEASURED


@dataclass(frozen=True)
class ErrorsOfAverage:
    """Mean squared errors of the average as it is, and compared with the true one a mean delay
    earlier."""

    plain: Estimate = _NOT_MEASURED
    moved: Estimate = _NOT_MEASURED


@dataclass(frozen=True)
class TemporalUtility:
    """In ticks, and in the unit of values; `count` and `average` are None where values are no
    numbers. `lag` is the mean delay of values that leave, in whole ticks, and `fill` the share of
    ticks that hold a value while all records do; both are public."""

    costs: MeasuredCosts
    expected: MeasuredCosts
    count: ErrorsOfCount | None
    average: ErrorsOfAverage | None
    lag: int
    fill: float
    delay_law_epsilon: float | None

    def document(self) -> dict[str, object]:
        """Everything, for a machine."""
        return {
            "delay_law_epsilon": self.delay_law_epsilon,
            "lag": self.lag,
            "fill": self.fill,
            "costs": _document(self.costs),
            "expected_costs": _document(self.expected),
            "count": None if self.count is None else _document(self.count),
            "average": None if self.average is None else _document(self.average),
        }

    def tables(self) -> Mapping[str, Cells]:
        """Costs, and errors where values are numbers."""
        tables: dict[str, Cells] = {
            "Per value, measured": self.costs.cells(),
            "Per value, expected": self.expected.cells(),
        }
        if self.count is not None and self.average is not None:
            tables[COUNT] = _cells(self.count)
            tables[AVERAGE] = {
                **_cells(self.average),
                "lag": "—" if isnan(self.average.moved.value) else str(self.lag),
            }
        return tables

    def panels(self) -> Mapping[str, Lines]:
        """Costs; errors as they are, and with everything undone that is known."""
        panels: dict[str, Lines] = {"total cost per value": _lines({"": self.costs.total})}
        if self.count is not None and self.average is not None:
            best = self.count.filled if isnan(self.count.moved.value) else self.count.moved
            panels[COUNT] = _lines({"": self.count.plain, "corrected": best})
            panels[AVERAGE] = _lines({"": self.average.plain, "corrected": self.average.moved})
        return panels

    def notes(self) -> list[str]:
        """The report has them, which knows the sample."""
        return []

    def own_notes(self) -> list[str]:
        """None."""
        return []


def _document(estimates: MeasuredCosts | ErrorsOfCount | ErrorsOfAverage) -> dict[str, object]:
    return {
        name: None if isnan(estimate["value"]) else estimate
        for name, estimate in asdict(estimates).items()
    }


def _lines(measured: Mapping[str, Estimate]) -> Lines:
    return {label: one for label, one in measured.items() if not isnan(one.value)}


def _cells(errors: ErrorsOfCount | ErrorsOfAverage) -> Cells:
    found: dict[str, Estimate] = {name: getattr(errors, name) for name in vars(errors)}
    return {name: estimate.relative() for name, estimate in found.items()}


def _percent(share: float) -> str:
    return "—" if isnan(share) else f"{100.0 * share:.2f}%"
