"""Compare what the analyst found with the truth, and tell what both topics say about a rider."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from rich.table import Table

from examples.commute.analyst import Counts, Reports
from examples.commute.riders import MOVES, ZONES
from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.leakage.combined import combined
from fugu.operators.leakage.correlation import LeakageOverTime, TemporalCorrelation
from fugu.operators.mechanism import Array, Floats, Integers
from fugu.operators.wevent_local.strategies import LocalPrivacyBudgetAllocation

PBA = LocalPrivacyBudgetAllocation(len(ZONES), window=4, epsilon=8.0)
"""The mechanism that reports.yaml configures."""
LOCAL, CENTRAL, TOGETHER = "local reports", "central counts", "together"


@dataclass(frozen=True, eq=False)
class Released:
    """True counts `(ticks, zones)`, what was reported, and what was counted."""

    truth: Integers
    reports: Reports
    counts: Counts

    @cached_property
    def estimates(self) -> dict[str, tuple[Floats, Floats]]:
        """Counts `(ticks, zones)` and their standard errors, by pipeline."""
        found = list(self.reports.counts(PBA))
        local = [one.counts for one in found], [one.standard_errors for one in found]
        return {
            LOCAL: (np.array(local[0]), np.array(local[1])),
            CENTRAL: (self.counts.values, self.counts.errors),
        }

    def error(self, name: str) -> Floats:
        """Return the mean error of each tick."""
        return np.asarray(np.abs(self.estimates[name][0] - self.truth).mean(axis=1))

    @cached_property
    def spent(self) -> Floats:
        """Return the nats of reports `(ticks, riders)`: decisions and reports, from the topic."""
        state = PBA.start(self.reports.bits.shape[1])
        units = [state["spent"]]
        for releases in self.reports.releases():
            state = PBA.follow_releases(state, releases)
            units.append(state["spent"])
        return np.diff(np.array(units), axis=0) / UNITS_PER_NAT

    @cached_property
    def leakage(self) -> dict[str, LeakageOverTime]:
        """Return what is told about the rider whose reports cost most: by each, and by both."""
        known = TemporalCorrelation.of(MOVES)
        worst = int(self.spent.sum(axis=0).argmax())
        local, central = self.spent[:, worst].tolist(), self.counts.spent.tolist()
        return {
            LOCAL: known.over(local),
            CENTRAL: known.over(central),
            TOGETHER: combined("parallel", (known, local), (known, central)),
        }


def table(released: Released) -> Table:
    """Return how wrong counts are, how often bars hold, and what is told about one rider."""
    shown = Table(
        title=f"{released.truth.size:,} counts; the mean true count is {released.truth.mean():.0f}",
        caption="nats are about the zone of the rider whose reports cost most, to a reader who "
        "knows how riders move; bars cover noise, not age",
    )
    shown.add_column("")
    for heading in ("mean error", "95 % bars hold", "nats about one zone, by the end"):
        shown.add_column(heading, justify="right")
    for name in (LOCAL, CENTRAL):
        told = max(released.leakage[name].total)
        held = f"{_held(released, name).mean():.0%}"
        shown.add_row(name, f"{released.error(name).mean():.1f}", held, f"{told:.2f}")
    shown.add_row(TOGETHER, "", "", f"{max(released.leakage[TOGETHER].total):.2f}")
    return shown


def _held(released: Released, name: str) -> Array:
    """Return where the bars hold the true count, of what was published at all."""
    values, errors = released.estimates[name]
    held = np.abs(values - released.truth) <= 1.96 * errors
    return np.asarray(held[~np.isnan(errors)])
