from typing import Literal

from fugu.dataflows.kinds.families.collected import CollectedOperator
from fugu.operators.ldp_ids.strategies import CollectedSample


class LspOperator(CollectedOperator):
    """Count users by reports of everybody at one tick of every window, with all of the budget."""

    order = 451
    collector = CollectedSample
    kind: Literal["lsp"]
