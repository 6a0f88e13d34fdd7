from typing import Literal

from fugu.dataflows.kinds.families.collected import AskingOperator
from fugu.operators.ldp_ids.strategies import CollectedBudgetAbsorption


class LbaOperator(AskingOperator):
    """Count users when it pays, by reports of everybody with the budget of skipped ticks."""

    order = 453
    collector = CollectedBudgetAbsorption
    kind: Literal["lba"]
