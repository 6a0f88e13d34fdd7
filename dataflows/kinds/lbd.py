from typing import Literal

from fugu.dataflows.kinds.families.collected import AskingOperator
from fugu.operators.ldp_ids.strategies import CollectedBudgetDistribution


class LbdOperator(AskingOperator):
    """Count users when it pays, by reports of everybody with half of what the window has left."""

    order = 452
    collector = CollectedBudgetDistribution
    kind: Literal["lbd"]
