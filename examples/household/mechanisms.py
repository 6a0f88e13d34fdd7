"""The mechanisms of the study, by the names that papers have for them.

Each gets an epsilon of 1. Those that know policies publish ticks as they are at which nothing is
relevant. Those of w-event privacy get the length of the longest relevance interval for a window,
so that they promise at least as much. The filter of RescueDP is told that figures change by one
household in an hour: as it is by default, by ten, it errs several times as much in small zones.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from examples.household.household import LARGEST_LOAD, Household
from examples.household.perfect_sampling import UnicornStar
from fugu.operators.mechanism import Inputs, Integers, Mechanism
from fugu.operators.randomness import DrawScope, Secret, tick_position
from fugu.operators.single_stream import with_plan
from fugu.operators.swellfish.interval_strategies import (
    IntervalStrategy,
    TINARSample,
    TINARUniform,
    Unicorn,
    UnicornIS,
    UnicornPS,
)
from fugu.operators.swellfish.planning import UnicornPlan
from fugu.operators.swellfish.strategy import WindowStrategy
from fugu.operators.swellfish.ts_strategies import (
    TSBudgetAbsorption,
    TSBudgetDistribution,
    TSSample,
    TSUniform,
)
from fugu.operators.wevent.pegasus import Pegasus
from fugu.operators.wevent.rescue_dp import RescueDp
from fugu.operators.wevent.spread_strategies import (
    BudgetAbsorption,
    BudgetDistribution,
    Sample,
    Uniform,
)
from fugu.operators.wevent.strategy import Strategy

EPSILON = 1.0


def _of_windows(kind: type[Strategy] | type[Pegasus], household: Household) -> Mechanism:
    return kind(1, household.window, EPSILON, LARGEST_LOAD)


def _rescue_dp(household: Household) -> Mechanism:
    variance = float(LARGEST_LOAD**2)
    return RescueDp(
        1,
        household.window,
        EPSILON,
        LARGEST_LOAD,
        contribution=LARGEST_LOAD,
        process_variance=variance,
    )


def _of_sensitivities(kind: type[WindowStrategy], household: Household) -> Mechanism:
    return kind(household.timeline(), 1, EPSILON, household.window, irrelevant="exact")


def _of_intervals(kind: type[IntervalStrategy], household: Household) -> Mechanism:
    return kind(household.timeline(), 1, EPSILON, irrelevant="exact")


MECHANISMS: Mapping[str, Callable[[Household], Mechanism]] = {
    "Uniform": partial(_of_windows, Uniform),
    "Sample": partial(_of_windows, Sample),
    "BD": partial(_of_windows, BudgetDistribution),
    "BA": partial(_of_windows, BudgetAbsorption),
    "RescueDP": _rescue_dp,
    "TSUniform": partial(_of_sensitivities, TSUniform),
    "TSSample": partial(_of_sensitivities, TSSample),
    "TSBD": partial(_of_sensitivities, TSBudgetDistribution),
    "TSBA": partial(_of_sensitivities, TSBudgetAbsorption),
    "TINARUniform": partial(_of_intervals, TINARUniform),
    "TINARSample": partial(_of_intervals, TINARSample),
    "UnicornIS": partial(_of_intervals, UnicornIS),
    "UnicornPS": partial(_of_intervals, UnicornPS),
    "Unicorn": partial(_of_intervals, Unicorn),
    "Unicorn*": partial(_of_intervals, UnicornStar),
    "PeGaSus": partial(_of_windows, Pegasus),
    "UnicornPlan": partial(_of_intervals, UnicornPlan),
}
"""All but Unicorn* are private; the paper has neither PeGaSus nor UnicornPlan."""


def released(mechanism: Mechanism, series: Integers, seed: int) -> Iterator[Integers]:
    """Yield what is released of `series (ticks, zones)`, tick by tick, `(zones,)`."""
    secret = Secret(seed.to_bytes(32, "big"))
    scope = DrawScope(secret, "households", mechanism.kind, 1, mechanism.law_digest())
    keys = [f"zone {zone}".encode() for zone in range(series.shape[1])]
    state = mechanism.start(len(keys))
    for tick, values in enumerate(series):
        draws = scope.draws(keys, [tick_position("grid", tick)] * len(keys))
        state = with_plan(mechanism, state)
        state, releases = mechanism.step(state, Inputs(values[:, None]), draws)
        yield releases.values[:, 0]
