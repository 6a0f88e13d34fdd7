"""Compare what the analyst found with the truth, which only a generated example knows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.table import Table

from examples.household.analyst import Figures
from examples.household.meters import FIRST_TICK, PER_DAY
from examples.household.protected import Protected
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.remarks import noise_table
from fugu.operators.mechanism import Floats
from fugu.operators.swellfish.attribution import Attribution
from fugu.operators.wevent.allocation import Booleans

_HOURS = 24 / PER_DAY


@dataclass(frozen=True, eq=False)
class Released:
    """True figures, those of each strategy, what is protected and takes how much noise, and what
    the pipeline said of the policy that was added."""

    truth: Floats
    by_strategy: dict[str, Figures]
    document: PolicyDocument
    protected: Sequence[Protected]
    noise: Attribution
    decided: str

    def errors(self, strategy: str) -> Floats:
        """Tick by tick, in kW."""
        return np.asarray(np.abs(self.by_strategy[strategy].values - self.truth))


def protected_table(released: Released) -> Table:
    """Policies, and how long there is an open interval of them."""
    shown = Table(title="What is protected, in three days")
    shown.add_column("policy")
    for heading in ("intervals", "hours", "changes a tick by"):
        shown.add_column(heading, justify="right")
    for one in released.protected:
        shown.add_row(
            one.name,
            str(len(one.occurrences)),
            f"{one.ticks * _HOURS:g}",
            f"{one.largest_change} at most",
        )
    return shown


def whose_table(released: Released) -> Table:
    """Return which collections cause the noise, and how wrong the figures are there."""
    ticks = range(FIRST_TICK, FIRST_TICK + len(released.truth))
    place, errors = released.noise.places(ticks), released.errors("unicorn")

    def error(relevant: Booleans) -> float | None:
        there = errors[relevant[place]]
        return float(there.mean()) if there.size else None

    shown = noise_table(released.document, released.noise, error)
    shown.title = "Noise by collection and policy: expected, and the errors of unicorn there"
    shown.caption = (
        "noise: where it is relevant, whoever asks for it; alone: without other collections; "
        "without: the mean of all ticks if nobody asked for it"
    )
    return shown


def errors_table(released: Released) -> Table:
    """Return how wrong figures are, and what became of ticks."""
    truth, hidden = released.truth, released.by_strategy["unicorn"].sensitivities > 0
    shown = Table(
        title=f"{len(truth)} figures; the mean true one is {truth.mean():.0f} kW",
        caption=f"mean absolute errors; something is protected in {hidden.mean():.0%} of the ticks",
    )
    shown.add_column("strategy")
    for heading in ("error", "... where protected", "exact", "sampled", "repeated"):
        shown.add_column(heading, justify="right")
    for strategy, figures in released.by_strategy.items():
        errors = released.errors(strategy)
        shown.add_row(
            strategy,
            f"{errors.mean():.1f} kW",
            f"{errors[hidden].mean():.1f} kW",
            *(f"{figures.share(status):.0%}" for status in ("exact", "sampled", "repeated")),
        )
    return shown
