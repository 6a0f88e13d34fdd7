"""From the section of an operator under policies to a mechanism."""

from typing import Any

from fugu.dataflows.kinds.policies import PolicyOperator
from fugu.operators.swellfish.interval_strategy import IntervalStrategy
from fugu.operators.swellfish.strategy import PolicyStrategy
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

_BY_INTERVAL: dict[str, type[IntervalStrategy]] = {
    strategy.kind: strategy
    for strategy in (Unicorn, UnicornIS, UnicornPS, TINARUniform, TINARSample)
}
_BY_WINDOW: dict[str, type[WindowStrategy]] = {
    strategy.kind: strategy
    for strategy in (TSUniform, TSSample, TSBudgetDistribution, TSBudgetAbsorption)
}


def policy_strategy(operator: PolicyOperator, epsilon: float | None = None) -> PolicyStrategy[Any]:
    """The strategy that the section names; with another `epsilon` than the document has, if one is
    given."""
    document = operator.policies
    common = (operator.timeline, operator.group_count, epsilon or document.section.epsilon)
    irrelevant = operator.released_without_policy
    if operator.window is None:
        return _BY_INTERVAL[operator.kind](*common, irrelevant=irrelevant)
    return _BY_WINDOW[operator.kind](*common, operator.window, irrelevant=irrelevant)
