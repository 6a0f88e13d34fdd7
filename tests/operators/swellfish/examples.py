"""Strategies of Swellfish privacy, configured to be tried and tested on."""

from datetime import datetime
from math import inf, nan
from typing import Any

from fugu.operators.swellfish.calendar import Calendar, Once
from fugu.operators.swellfish.household import HOUSEHOLD
from fugu.operators.swellfish.interval_strategies import (
    TINARSample,
    TINARUniform,
    Unicorn,
    UnicornIS,
    UnicornPS,
)
from fugu.operators.swellfish.planning import UnicornPlan
from fugu.operators.swellfish.policy import Collection, Policy
from fugu.operators.swellfish.relevance import Query
from fugu.operators.swellfish.strategy import PolicyStrategy, WindowStrategy
from fugu.operators.swellfish.timeline import Policies
from fugu.operators.swellfish.ts_strategies import (
    TSBudgetAbsorption,
    TSBudgetDistribution,
    TSSample,
    TSUniform,
)
from tests.conformance.example import EPSILONS, Example, Examples, Unusable
from tests.operators.swellfish.zones import GREENWICH, HOURLY
from tests.operators.wevent.examples import COUNTS


def _every_day(name: str, hours: tuple[int, int], *thresholds: int) -> Policy:
    start, end = (3600 * hour for hour in hours)
    week = Calendar(GREENWICH, tuple(range(7)), start, end)
    return Policy(name, week, len(thresholds), thresholds)


GUEST = Policy("guest", Once(GREENWICH, datetime(1970, 1, 1, 2), datetime(1970, 1, 1, 7)), 1, (1,))
BUILDING = Policies(
    HOURLY,
    Query("sum", 3),
    (
        Collection("early", (_every_day("bath", (0, 4), 2, 1), GUEST)),
        Collection("late", (_every_day("bath", (3, 8), 1, 2), _every_day("bed", (22, 3), 0, 0))),
    ),
)


def baselines(kind: type[PolicyStrategy[Any]]) -> tuple[Example, ...]:
    more = {"window": 8} if issubclass(kind, WindowStrategy) else {}
    return (
        Example(kind(BUILDING, 3, 1.0, **more), COUNTS),
        Example(kind(BUILDING, 2, 20.0, **more, irrelevant="exact"), COUNTS[:, 1:] - 200),
    )


def unicorns(kind: type[UnicornIS | UnicornPS]) -> tuple[Example, ...]:
    at_home = kind(HOUSEHOLD, 1, 0.1, irrelevant=0.5)
    return (*baselines(kind), Example(at_home, 10**5 * COUNTS[:, :1]))


EXAMPLES: Examples = {
    **dict.fromkeys((Unicorn, UnicornIS, UnicornPlan, UnicornPS), unicorns),
    **dict.fromkeys((TINARSample, TINARUniform), baselines),
    **dict.fromkeys((TSBudgetAbsorption, TSBudgetDistribution, TSSample, TSUniform), baselines),
}

NUMBERS = {
    "bins": (0, -1, 2**17 + 1),
    "epsilon": (*EPSILONS, 20.1, 1e-20),
    "irrelevant": (0.0, -1.0, nan, inf, 20.1, 1e-20),
}
UNUSABLE: Unusable = {
    kind: {**NUMBERS, "window": (0, -1, 10**5 + 1)} if issubclass(kind, WindowStrategy) else NUMBERS
    for kind in EXAMPLES
}
