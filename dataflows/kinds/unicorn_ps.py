from typing import Literal

from fugu.dataflows.kinds.families.policies import PolicyOperator
from fugu.operators.swellfish.interval_strategies import UnicornPS


class UnicornPsOperator(PolicyOperator):
    """Release figures at every tick that matters, with shares of its relevance intervals."""

    order = 502
    strategy_class = UnicornPS
    kind: Literal["unicorn_ps"]
