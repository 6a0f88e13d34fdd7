"""What mechanisms err on the series of zones, given what a household wants hidden.

Every mechanism releases every zone with an epsilon of 1, once for each household, whose policies
are everybody's in that run. Those that know policies publish ticks as they are at which nothing is
relevant. Those of w-event privacy get the length of the longest relevance interval for a window,
so that they promise at least as much. Zones are rows of one stream of steps; errors are those of
figures in kW, absolute and relative to the true figure, on average over ticks.

Source: Swellfish specification, sections 6 and 7.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from examples.household.household import LARGEST_LOAD, Household
from examples.household.zones import UNITS_PER_KW
from fugu.operators.mechanism import Floats, Inputs, Integers, Mechanism
from fugu.operators.randomness import DrawScope, tick_position
from fugu.operators.secret import Secret
from fugu.operators.swellfish.tinar_strategies import TINARUniform
from fugu.operators.swellfish.ts_strategies import (
    TSBudgetAbsorption,
    TSBudgetDistribution,
    TSSample,
    TSUniform,
)
from fugu.operators.swellfish.unicorn import Unicorn
from fugu.operators.swellfish.unicorn_is import UnicornIS
from fugu.operators.swellfish.unicorn_ps import UnicornPS
from fugu.operators.wevent.budget_absorption import BudgetAbsorption
from fugu.operators.wevent.budget_distribution import BudgetDistribution
from fugu.operators.wevent.sample import Sample
from fugu.operators.wevent.strategy import Strategy
from fugu.operators.wevent.uniform import Uniform

EPSILON = 1.0
ABSOLUTE, RELATIVE = 0, 1

WEvent = type[Strategy]
Windowed = type[TSUniform] | type[TSSample] | type[TSBudgetDistribution] | type[TSBudgetAbsorption]
OfIntervals = type[TINARUniform] | type[UnicornIS] | type[UnicornPS] | type[Unicorn]


def _of_windows(kind: WEvent, household: Household) -> Mechanism:
    return kind(1, household.window, EPSILON, LARGEST_LOAD)


def _of_sensitivities(kind: Windowed, household: Household) -> Mechanism:
    return kind(household.timeline(), 1, EPSILON, household.window, irrelevant="exact")


def _of_intervals(kind: OfIntervals, household: Household) -> Mechanism:
    return kind(household.timeline(), 1, EPSILON, irrelevant="exact")


MECHANISMS: Mapping[str, Callable[[Household], Mechanism]] = {
    "Uniform": partial(_of_windows, Uniform),
    "Sample": partial(_of_windows, Sample),
    "BD": partial(_of_windows, BudgetDistribution),
    "BA": partial(_of_windows, BudgetAbsorption),
    "TSUniform": partial(_of_sensitivities, TSUniform),
    "TSSample": partial(_of_sensitivities, TSSample),
    "TSBD": partial(_of_sensitivities, TSBudgetDistribution),
    "TSBA": partial(_of_sensitivities, TSBudgetAbsorption),
    "TINARUniform": partial(_of_intervals, TINARUniform),
    "UnicornIS": partial(_of_intervals, UnicornIS),
    "UnicornPS": partial(_of_intervals, UnicornPS),
    "Unicorn": partial(_of_intervals, Unicorn),
}
"""By the names that the paper has for them."""


@dataclass(frozen=True, eq=False)
class Study:
    """`errors[name]`: `(households, zones, 2)`, absolute and relative ones; `means`: those of the
    zones, in MW."""

    means: Sequence[float]
    errors: Mapping[str, Floats]

    def relative(self, name: str, mean: float) -> Floats:
        """Of one zone, for each household."""
        return self.errors[name][:, list(self.means).index(mean), RELATIVE]

    def absolute(self, name: str) -> float:
        """The median over households and zones, in kW."""
        return float(np.median(self.errors[name][:, :, ABSOLUTE]))

    def factors(self, name: str, over: str) -> tuple[float, float, float]:
        """How many times less it errs than the other one: the median over households and zones,
        and what 5 % and 95 % of them do not exceed."""
        ratios = self.errors[over][:, :, ABSOLUTE] / self.errors[name][:, :, ABSOLUTE]
        low, median, high = np.quantile(ratios, (0.05, 0.5, 0.95)).tolist()
        return median, low, high


def errors_of(name: str, household: Household, series: Integers, seed: int) -> Floats:
    """Of one run: `(zones, 2)`; `series (ticks, zones)` in units."""
    total = np.zeros((series.shape[1], 2))
    for values, released in zip(series, run(name, household, series, seed), strict=True):
        apart = np.abs(released - values)
        total += np.stack([apart / UNITS_PER_KW, apart / values], axis=1)
    return np.asarray(total / len(series))


def run(name: str, household: Household, series: Integers, seed: int) -> Iterator[Integers]:
    """What is released, tick by tick, `(zones,)`."""
    mechanism = MECHANISMS[name](household)
    secret = Secret(seed.to_bytes(32, "big"))
    scope = DrawScope(secret, "households", mechanism.kind, 1, mechanism.law_digest())
    keys = [f"zone {zone}".encode() for zone in range(series.shape[1])]
    state = mechanism.start(len(keys))
    for tick, values in enumerate(series):
        draws = scope.draws(keys, [tick_position("grid", tick)] * len(keys))
        state, releases = mechanism.step(state, Inputs(values[:, None]), draws)
        yield releases.values[:, 0]


def study(
    households: Sequence[Household], series: Integers, means: Sequence[float], names: Sequence[str]
) -> Study:
    """Every household has a secret of its own; all processors work on them."""
    with ProcessPoolExecutor() as pool:
        pending = {
            name: [
                pool.submit(errors_of, name, household, series, seed)
                for seed, household in enumerate(households)
            ]
            for name in names
        }
        errors = {name: np.stack([one.result() for one in runs]) for name, runs in pending.items()}
    return Study(means, errors)
