from typing import Literal

from fugu.dataflows.kinds.families.w_event import WEventOperator
from fugu.operators.wevent.spread_strategies import BudgetAbsorption


class BudgetAbsorptionOperator(WEventOperator):
    """Release figures where a noisy dissimilarity test says so, with what was left unspent."""

    order = 403
    strategy_class = BudgetAbsorption
    kind: Literal["budget_absorption"]
