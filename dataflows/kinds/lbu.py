from typing import Literal

from fugu.dataflows.kinds.families.collected import CollectedOperator
from fugu.operators.ldp_ids.strategies import CollectedUniform


class LbuOperator(CollectedOperator):
    """Count users by reports of everybody at every tick, with an equal part of the budget."""

    order = 450
    collector = CollectedUniform
    kind: Literal["lbu"]
