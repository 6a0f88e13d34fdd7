"""Compare what the analyst found with the truth, which only a generated example knows."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from rich.table import Table

from examples.bike_share.analyst import Figures
from examples.bike_share.riders import DISTRICTS
from fugu.operators.mechanism import Array, Floats, Integers
from fugu.operators.realtime.account import paper_total
from fugu.operators.realtime.rivals import laplace, normal

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
        """Return which ticks were measured."""
        return self.figures[next(iter(DISTRICTS))].measured

    @property
    def busiest(self) -> int:
        """The district with most riders."""
        return int(self.truth.sum(axis=0).argmax())

    @cached_property
    def values(self) -> Floats:
        """Return what was released, `(ticks, districts)`."""
        return np.stack([self.figures[name].values for name in DISTRICTS], axis=1)

    @cached_property
    def held(self) -> Array:
        """Return where the bars hold the true count, `(ticks, districts)`."""
        lower, upper = (
            np.stack([self.figures[name].bars[end] for name in DISTRICTS], axis=1) for end in (0, 1)
        )
        return np.asarray((lower <= self.truth) & (self.truth <= upper))

    @cached_property
    def rivals(self) -> dict[str, Floats]:
        """Two others, `(ticks, districts)`: they share the same budget among the ticks that were
        measured, and have nothing for the rest (NaN)."""
        truth, random = self.truth[self.measured].astype(np.float64), np.random.default_rng(_SEED)
        total = paper_total(self.epsilon, self.delta)
        noisy = {
            "Normal": normal(truth, total=total, sensitivity=sqrt(_CHANGED), rng=random),
            "Laplace": laplace(truth, epsilon=self.epsilon, sensitivity=_CHANGED, rng=random),
        }
        whole = {name: np.full(self.truth.shape, np.nan) for name in noisy}
        for name, values in noisy.items():
            whole[name][self.measured] = values
        return whole


def table(released: Released) -> Table:
    """Return how wrong figures are, and how often bars hold the truth."""
    busiest, measured = released.busiest, released.measured
    name = list(DISTRICTS)[busiest]
    shown = Table(
        title=f"{len(released.truth)} hours of {len(DISTRICTS)} districts; {name} is the busiest",
        caption="mean absolute errors, and root mean squared ones as part of the largest true "
        "count; rivals have the same epsilon for the same hours, and nothing to say after them",
    )
    shown.add_column("figures")
    for heading in ("hours", f"error in {name}", "of largest", "error, all", "bars hold"):
        shown.add_column(heading, justify="right")
    bars = released.held.mean(axis=1)
    for label, ticks, values, held in (
        ("measured", measured, released.values, f"{bars[measured].mean():.0%}"),
        *(
            (f"{rival}, simulated", measured, values, "")
            for rival, values in released.rivals.items()
        ),
        ("predicted", ~measured, released.values, f"{bars[~measured].mean():.0%}"),
    ):
        errors = np.abs(values - released.truth)[ticks]
        own, largest = errors[:, busiest], released.truth[:, busiest].max()
        shown.add_row(
            label,
            f"{len(errors)}",
            f"{own.mean():.1f}",
            f"{sqrt((own * own).mean()) / largest:.1%}",
            f"{errors.mean():.1f}",
            held,
        )
    return shown


def budget_line(released: Released) -> str:
    """Return what the last figures say was spent, and remains."""
    figures, measured = released.figures[next(iter(DISTRICTS))], released.measured
    return (
        f"Budget: {figures.spent[-1]:.4f} rho spent, {figures.remaining[-1]:.4f} left; "
        f"{measured.sum()} hours measured, {(~measured).sum()} predicted."
    )
