"""Average over all runs, with the standard error that comes from the draws alone.

The sample stays the same from run to run, and streams are drawn independently of each other. So
the variance of a mean is the sum, over streams, of the variance from run to run of what each of
them adds to it: two runs of many streams already tell it well.

>>> errors, records = np.array([[1.0, 4.0], [3.0, 4.0]]), np.array([[10.0, 10.0], [10.0, 10.0]])
>>> mean_per_record(errors, records)
Estimate(value=0.3, standard_error=0.05)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, isnan, log10, nan, sqrt

import numpy as np

from fugu.operators.mechanism import Floats

NOTHING = "—"
"""The cell of a table for what cannot be told."""


@dataclass(frozen=True)
class Estimate:
    """Hold a value and its standard error, which is NaN where a single run cannot tell it."""

    value: float
    standard_error: float = nan

    def root(self) -> "Estimate":
        """Return the square root, and its error to first order."""
        root = sqrt(self.value)
        return Estimate(root, self.standard_error / (2.0 * root) if root > 0.0 else 0.0)

    def scaled(self, factor: float) -> "Estimate":
        """Return the same in another unit."""
        return Estimate(factor * self.value, factor * self.standard_error)

    def rounded(self, sign: str = "") -> str:
        """Write a value of unknown size, with two digits of the error."""
        size = abs(self.value) / 100.0 if isnan(self.standard_error) else self.standard_error
        decimals = 2 if not size > 0.0 else min(6, max(0, 1 - floor(log10(size))))
        return self.shown(f"{sign},.{decimals}f")

    def shown(self, form: str) -> str:
        """Write the value in a format, and the error with as many decimals and no sign."""
        if isnan(self.value):
            return NOTHING
        value = format(self.value, form)
        if isnan(self.standard_error):
            return value
        return f"{value}±{format(self.standard_error, form.removeprefix('+'))}"

    def relative(self) -> str:
        """Write three digits, and the standard error in per cent of them."""
        value = three_digits(self.value)
        if not (self.value > 0.0 and self.standard_error > 0.0):
            return value
        return f"{value} ±{100.0 * self.standard_error / self.value:.2g}%"


NO_ESTIMATE = Estimate(nan)


def percent(estimate: Estimate | None, form: str = ".2f") -> str:
    """Write a share in per cent."""
    return NOTHING if estimate is None else estimate.scaled(100.0).shown(form)


def mean_per_record(totals: Floats, records: Floats) -> Estimate:
    """Divide the sum of `totals` by that of `records`, both `(runs, streams)`."""
    runs = len(totals)
    per_run = records.sum() / runs
    if per_run == 0.0:
        return NO_ESTIMATE
    value = float(totals.sum() / records.sum())
    if runs == 1:
        return Estimate(value)
    variance = np.var(totals - value * records, axis=0, ddof=1).sum() / runs
    return Estimate(value, float(np.sqrt(variance) / per_run))


def three_digits(value: float) -> str:
    """Write three digits of a value of any size.

    >>> [three_digits(value) for value in (0.10234, 5.031, 1234.5, 5.0312e6, 0.0)]
    ['0.102', '5.03', '1,230', '5.03e6', '0.00']
    """
    if isnan(value):
        return NOTHING
    if value == 0.0:
        return "0.00"
    digits = 2 - int(log10(abs(value)) // 1)
    if digits < -3 or digits > 6:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{round(value, digits):,.{max(0, digits)}f}"


def mean_of_runs(values: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard error over the first axis, by run."""
    runs = len(values)
    error = np.full(values.shape[1:], nan)
    if runs > 1:
        error = np.std(values, axis=0, ddof=1) / np.sqrt(runs)
    return np.asarray(np.mean(values, axis=0)), np.asarray(error)


def estimates(per_run: Floats | Sequence[Sequence[float]]) -> list[Estimate]:
    """Estimate each of several figures from what each run measured of them."""
    means, errors = mean_of_runs(np.array(per_run, dtype=np.float64))
    return list(map(Estimate, means.tolist(), errors.tolist()))


def estimate(per_run: Floats | Sequence[float]) -> Estimate:
    """Estimate one figure from what each run measured of it."""
    return estimates(np.array(per_run)[:, None])[0]
