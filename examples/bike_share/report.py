"""What the analyst found beside the truth, which only a generated example knows."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from rich.table import Table

from examples.bike_share.analyst import Figures
from examples.bike_share.riders import DISTRICTS
from operators.mechanism import Array, Floats, Integers
from operators.realtime.accountants import paper_total
from operators.realtime.rivals import laplace, normal

_CHANGED = 2
"""Districts of an hour in which counts change where one rental moves, by 1 each."""
_SEED = 3


@dataclass(frozen=True, eq=False)
class Released:
    """True counts `(ticks, districts)`, and the figures of each district under this budget."""

    truth: Integers
    figures: Mapping[str, Figures]
    epsilon: float
    delta: float

    @property
    def measured(self) -> Array:
        """Which ticks were."""
        return self.figures[next(iter(DISTRICTS))].measured

    @property
    def busiest(self) -> int:
        """The district with most riders."""
        return int(self.truth.sum(axis=0).argmax())

    @cached_property
    def values(self) -> Floats:
        """What was released, `(ticks, districts)`."""
        return np.stack([self.figures[name].values for name in DISTRICTS], axis=1)

    @cached_property
    def held(self) -> Array:
        """Where the bars hold the true count, `(ticks, districts)`."""
        lower, upper = (
            np.stack([self.figures[name].bars[end] for name in DISTRICTS], axis=1) for end in (0, 1)
        )
        return np.asarray((lower <= self.truth) & (self.truth <= upper))

    @cached_property
    def rivals(self) -> dict[str, Floats]:
        """Two others, who share the same budget among the measured ticks, and then have nothing."""
        truth, random = self.truth[self.measured].astype(np.float64), np.random.default_rng(_SEED)
        total = paper_total(self.epsilon, self.delta)
        return {
            "Normal": normal(truth, total=total, sensitivity=sqrt(_CHANGED), rng=random),
            "Laplace": laplace(truth, epsilon=self.epsilon, sensitivity=_CHANGED, rng=random),
        }


def table(released: Released) -> Table:
    """How wrong figures are, and how often bars hold the truth."""
    busiest = list(DISTRICTS)[released.busiest]
    shown = Table(
        title=f"{len(released.truth)} hours in {len(DISTRICTS)} districts, {busiest} the busiest",
        caption="Normal and Laplace are simulated: noise alone, for the same riders and epsilon",
    )
    shown.add_column("figures")
    for heading in (
        "hours",
        f"mean error, {busiest}",
        "root mean square, of largest",
        "mean error, all",
        "bars hold",
    ):
        shown.add_column(heading, justify="right")
    measured = released.measured
    for name, ticks, values in (
        ("real_time, measured", measured, released.values[measured]),
        *((f"{name}, simulated", measured, values) for name, values in released.rivals.items()),
        ("real_time, predicted", ~measured, released.values[~measured]),
    ):
        errors = np.abs(values - released.truth[ticks])
        own = errors[:, released.busiest]
        largest = released.truth[:, released.busiest].max()
        shown.add_row(
            name,
            f"{len(errors)}",
            f"{own.mean():.1f}",
            f"{sqrt((own * own).mean()) / largest:.1%}",
            f"{errors.mean():.1f}",
            f"{released.held[ticks].mean():.0%}" if name.startswith("real_time") else "",
        )
    return shown


def budget_line(released: Released) -> str:
    """What the last figures say was spent, and remains."""
    figures, measured = released.figures[next(iter(DISTRICTS))], released.measured
    return (
        f"Budget: {figures.spent[-1]:.4f} rho spent, {figures.remaining[-1]:.4f} remain; "
        f"{measured.sum()} hours were measured, {(~measured).sum()} are predicted."
    )
