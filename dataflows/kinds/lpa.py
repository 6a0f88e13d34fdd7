from typing import Literal

from fugu.dataflows.kinds.families.collected import AskingOperator
from fugu.operators.ldp_ids.strategies import CollectedPopulationAbsorption


class LpaOperator(AskingOperator):
    """Count users when it pays, by as many as skipped ticks have left."""

    order = 456
    collector = CollectedPopulationAbsorption
    kind: Literal["lpa"]
