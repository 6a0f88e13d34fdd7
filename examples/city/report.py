"""Compare what the analyst found with the truth, which only a generated example knows."""

from dataclasses import dataclass

import numpy as np
from rich.table import Table

from examples.city.analyst import Figures
from examples.city.people import ZONES
from fugu.operators.mechanism import Array, Integers


@dataclass(frozen=True, eq=False)
class Released:
    """True counts `(ticks, zones)`, and the figures of each zone by strategy."""

    truth: Integers
    by_strategy: dict[str, dict[str, Figures]]

    def stacked(self, strategy: str, name: str) -> Array:
        """One field of the figures, `(ticks, zones)`."""
        figures = self.by_strategy[strategy]
        return np.stack([np.asarray(getattr(figures[zone], name)) for zone in ZONES], axis=1)

    def held(self, strategy: str) -> Array:
        """Return where the bars hold the true count."""
        lower, upper = (
            np.stack([self.by_strategy[strategy][zone].bars[end] for zone in ZONES], axis=1)
            for end in (0, 1)
        )
        return np.asarray((lower <= self.truth) & (self.truth <= upper))


def table(released: Released) -> Table:
    """Return how wrong figures are, and how often bars hold the truth."""
    shown = Table(
        title=f"{released.truth.size:,} figures; the mean true count is "
        f"{released.truth.mean():.0f}",
        caption="bars are about the published tick: repeated figures age, and bars do not say so",
    )
    shown.add_column("strategy")
    for heading in (
        "ticks published",
        "mean error",
        "... when published",
        "bars hold, published",
        "bars hold, repeated",
    ):
        shown.add_column(heading, justify="right")
    for strategy in released.by_strategy:
        published = released.stacked(strategy, "published")
        errors = np.abs(released.stacked(strategy, "values") - released.truth)
        held = released.held(strategy)
        shown.add_row(
            strategy,
            f"{published[:, 0].sum()} of {len(published)}",
            f"{errors.mean():.1f}",
            f"{errors[published].mean():.1f}",
            f"{held[published].mean():.0%}",
            f"{held[~published].mean():.0%}",
        )
    return shown
