from typing import Literal

from fugu.dataflows.kinds.families.policies import PolicyOperator
from fugu.operators.swellfish.ts_strategies import TSBudgetDistribution


class TsBudgetDistributionOperator(PolicyOperator):
    """Release figures as `budget_distribution` does, with noise for what policies hide."""

    order = 508
    example = PolicyOperator.example + "window: 96\n"
    windowed = True
    strategy_class = TSBudgetDistribution
    kind: Literal["ts_budget_distribution"]
