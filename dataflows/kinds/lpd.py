from typing import Literal

from fugu.dataflows.kinds.families.collected import AskingOperator
from fugu.operators.ldp_ids.strategies import CollectedPopulationDistribution


class LpdOperator(AskingOperator):
    """Count users when it pays, by half of those whom the window has left."""

    order = 455
    collector = CollectedPopulationDistribution
    kind: Literal["lpd"]
