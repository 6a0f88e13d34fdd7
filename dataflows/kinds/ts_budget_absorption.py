from typing import Literal

from fugu.dataflows.kinds.families.policies import PolicyOperator
from fugu.operators.swellfish.ts_strategies import TSBudgetAbsorption


class TsBudgetAbsorptionOperator(PolicyOperator):
    """Release figures as `budget_absorption` does, with noise for what policies hide."""

    order = 509
    example = PolicyOperator.example + "window: 96\n"
    windowed = True
    strategy_class = TSBudgetAbsorption
    kind: Literal["ts_budget_absorption"]
