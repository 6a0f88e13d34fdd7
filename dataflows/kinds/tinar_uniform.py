from typing import Literal

from fugu.dataflows.kinds.families.policies import PolicyOperator
from fugu.operators.swellfish.interval_strategies import TINARUniform


class TinarUniformOperator(PolicyOperator):
    """Release figures at every tick of relevance intervals, with noise for a whole contribution."""

    order = 504
    strategy_class = TINARUniform
    kind: Literal["tinar_uniform"]
