"""Strategies of Swellfish privacy, configured to be tried and tested on."""

from collections.abc import Mapping
from datetime import datetime
from math import inf, nan
from typing import Any

import numpy as np

from fugu.operators.registry.example import EPSILONS, Example, Kind
from fugu.operators.swellfish.calendar import Calendar, Once
from fugu.operators.swellfish.household import HOUSEHOLD
from fugu.operators.swellfish.policy import Collection, Policy
from fugu.operators.swellfish.strategy import PolicyStrategy
from fugu.operators.swellfish.temporal_sensitivity import Query
from fugu.operators.swellfish.timeline import Policies
from fugu.operators.swellfish.tinar_strategies import TINARSample, TINARUniform
from fugu.operators.swellfish.ts_strategies import (
    TSBudgetAbsorption,
    TSBudgetDistribution,
    TSSample,
    TSUniform,
)
from fugu.operators.swellfish.unicorn import Unicorn
from fugu.operators.swellfish.unicorn_is import UnicornIS
from fugu.operators.swellfish.unicorn_ps import UnicornPS
from fugu.operators.swellfish.window_strategy import WindowStrategy
from fugu.operators.swellfish.zone import Zone

_UTC, _HOUR = Zone("UTC", ((0, 0),)), 3_600_000


def _once(name: str, hours: tuple[int, int], *thresholds: int) -> Policy:
    start, end = (datetime(1970, 1, 1, hour) for hour in hours)
    return Policy(name, Once(_UTC, start, end), len(thresholds), thresholds)


def _every_day(name: str, hours: tuple[int, int], *thresholds: int) -> Policy:
    start, end = (3600 * hour for hour in hours)
    return Policy(name, Calendar(_UTC, tuple(range(7)), start, end), len(thresholds), thresholds)


_BUILDING = Policies(
    _HOUR,
    Query("sum", 3),
    (
        Collection("early", (_every_day("bath", (0, 4), 2, 1), _once("guest", (2, 7), 1))),
        Collection("late", (_every_day("bath", (3, 8), 1, 2), _every_day("bed", (22, 3), 0, 0))),
    ),
)
_COUNTS = np.array([[0, 0, 0], [120, 7, 300], [121, 7, 300], [3, 3, 3]])


def _examples(kind: type[PolicyStrategy[Any]]) -> tuple[Example, ...]:
    more = {"window": 8} if issubclass(kind, WindowStrategy) else {}
    return (
        Example(kind(_BUILDING, 3, 1.0, **more), _COUNTS),
        Example(kind(_BUILDING, 2, 20.0, **more, irrelevant="exact"), _COUNTS[:, 1:] - 200),
        Example(kind(HOUSEHOLD, 1, 0.1, **more, irrelevant=0.5), 10**5 * _COUNTS[:, :1]),
    )


def _baselines(kind: type[PolicyStrategy[Any]]) -> tuple[Example, ...]:
    return _examples(kind)[:2]


KINDS: Mapping[str, Kind] = {
    "tinar_sample": Kind(TINARSample, _baselines),
    "tinar_uniform": Kind(TINARUniform, _baselines),
    "ts_budget_absorption": Kind(TSBudgetAbsorption, _baselines),
    "ts_budget_distribution": Kind(TSBudgetDistribution, _baselines),
    "ts_sample": Kind(TSSample, _baselines),
    "ts_uniform": Kind(TSUniform, _baselines),
    "unicorn": Kind(Unicorn, _examples),
    "unicorn_is": Kind(UnicornIS, _examples),
    "unicorn_ps": Kind(UnicornPS, _examples),
}

_UNUSABLE = {
    "bins": (0, -1, 2**17 + 1),
    "epsilon": (*EPSILONS, 20.1, 1e-20),
    "irrelevant": (0.0, -1.0, nan, inf, 20.1, 1e-20),
}
_UNUSABLE_WINDOW = {**_UNUSABLE, "window": (0, -1, 10**5 + 1)}

UNUSABLE: Mapping[type[Any], Mapping[str, tuple[float, ...]]] = {
    TINARSample: _UNUSABLE,
    TINARUniform: _UNUSABLE,
    TSBudgetAbsorption: _UNUSABLE_WINDOW,
    TSBudgetDistribution: _UNUSABLE_WINDOW,
    TSSample: _UNUSABLE_WINDOW,
    TSUniform: _UNUSABLE_WINDOW,
    Unicorn: _UNUSABLE,
    UnicornIS: _UNUSABLE,
    UnicornPS: _UNUSABLE,
}
