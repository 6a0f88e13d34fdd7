from typing import Literal

from fugu.dataflows.kinds.families.collected import CollectedOperator
from fugu.operators.ldp_ids.strategies import CollectedPopulationUniform


class LpuOperator(CollectedOperator):
    """Count users at every tick, by one of `window` groups with all of the budget."""

    order = 454
    collector = CollectedPopulationUniform
    kind: Literal["lpu"]
