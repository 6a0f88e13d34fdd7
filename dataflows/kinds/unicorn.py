from typing import Literal

from fugu.dataflows.kinds.families.policies import PolicyOperator
from fugu.operators.swellfish.interval_strategies import Unicorn


class UnicornOperator(PolicyOperator):
    """Release figures within relevance intervals where a noisy dissimilarity test says so."""

    order = 500
    strategy_class = Unicorn
    kind: Literal["unicorn"]
