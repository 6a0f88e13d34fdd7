"""Compare what the analyst found with the truth, which only a generated example knows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from rich.table import Table

from examples.heart_rate.analyst import ZONES, moving_average, ticks_in_zones
from fugu.operators.mechanism import Array, Floats

_HOUR = 60
_SHOWN = 4


class Errors(NamedTuple):
    """Hold the errors of one question, asked of three kinds of series."""

    published: float
    moved_back: float
    noisy: float


@dataclass(frozen=True, eq=False)
class Recovered:
    """Series of all people, one row each, one column a minute.

    `published` has values where they left, `moved_back` has them the mean delay (`lag`) earlier,
    and `noisy` has Laplace noise instead.
    """

    truth: Floats
    published: Floats
    moved_back: Floats
    noisy: Floats
    window: int
    lag: int

    def errors(self) -> dict[str, Errors]:
        """Mean absolute errors of what an analyst may want to know, in beats or minutes."""
        day = self.truth.shape[1]
        return {
            "one reading": self._errors(lambda series: series),
            "average of 10 minutes": self._errors(moving_average),
            "time in a zone, an hour": self._errors(lambda one: ticks_in_zones(one, _HOUR)),
            "time in a zone, the day": self._errors(lambda one: ticks_in_zones(one, day)),
        }

    def _errors(self, question: Callable[[Floats], Array]) -> Errors:
        truth = question(self.truth)
        told = (self.published, self.moved_back, self.noisy)
        return Errors(*(_error(truth, question(series)) for series in told))

    def lost(self) -> str:
        """Return how many readings never came out, and that the others came out as they were."""
        total = int((~np.isnan(self.truth)).sum())
        there = int((~np.isnan(self.published)).sum())
        return (
            f"{there:,} of {total:,} readings came out, each once and as it was. The others "
            "were in first windows, came too late, or are still held back (fugu run --finish)."
        )


def zones_table(recovered: Recovered) -> Table:
    """Minutes in zones of a few people."""
    shown = Table(
        title="Minutes in each zone, of a few people", caption="true, recovered, and from noise"
    )
    shown.add_column("person")
    for zone in ZONES:
        shown.add_column(zone, justify="right")
    day = recovered.truth.shape[1]
    truth, found, noisy = (
        ticks_in_zones(series, day)[:, 0]
        for series in (recovered.truth, recovered.moved_back, recovered.noisy)
    )
    for person in np.argsort(-truth[:, -1], kind="stable")[:_SHOWN].tolist():
        cells = zip(truth[person], found[person], noisy[person], strict=True)
        shown.add_row(str(person), *(f"{a}  {b}  [dim]{c}[/dim]" for a, b, c in cells))
    return shown


def errors_table(recovered: Recovered) -> Table:
    """Mean absolute errors."""
    shown = Table(title="Mean absolute errors, over all people")
    shown.add_column("of")
    for heading in ("as published", f"{recovered.lag} min earlier", "Laplace noise"):
        shown.add_column(heading, justify="right")
    for name, errors in recovered.errors().items():
        unit = "min" if name.startswith("time") else "bpm"
        shown.add_row(name, *(f"{error:.2f} {unit}" for error in errors))
    return shown


def _error(truth: Array, told: Array) -> float:
    """Return the error of ticks at which both have a value."""
    return float(np.nanmean(np.abs(told - truth)))
