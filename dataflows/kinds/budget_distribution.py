from typing import Literal

from fugu.dataflows.kinds.families.w_event import WEventOperator
from fugu.operators.wevent.spread_strategies import BudgetDistribution


class BudgetDistributionOperator(WEventOperator):
    """Release figures where a noisy dissimilarity test says so, with shares that halve."""

    order = 402
    strategy_class = BudgetDistribution
    kind: Literal["budget_distribution"]
