"""What displacing values costs, and how far it leads readers of numbers astray."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isnan, log10, nan

from dataflows.evaluation.estimates import Estimate
from dataflows.evaluation.utility import Cells, Lines

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
            "delay": _number(self.delay.value),
            "total": _number(self.total.value),
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
    return {name: _relative(estimate) for name, estimate in found.items()}


def _relative(estimate: Estimate) -> str:
    """Three digits, and the standard error in per cent of it."""
    value, error = estimate.value, estimate.standard_error
    return (
        _number(value)
        if not value > 0.0 or isnan(error)
        else (f"{_number(value)} ±{100.0 * error / value:.2g}%")
    )


def _number(value: float) -> str:
    """Three digits.

    >>> [_number(value) for value in (0.10234, 5.031, 1234.5, 5.0312e6, 0.0)]
    ['0.102', '5.03', '1,230', '5.03e6', '0.00']
    """
    if isnan(value):
        return "—"
    if value == 0.0:
        return "0.00"
    digits = 2 - int(log10(abs(value)) // 1)
    if digits < -3 or digits > 6:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{round(value, digits):,.{max(0, digits)}f}"


def _percent(share: float) -> str:
    return "—" if isnan(share) else f"{100.0 * share:.2f}%"
