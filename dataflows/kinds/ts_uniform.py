from typing import Literal

from fugu.dataflows.kinds.families.policies import PolicyOperator
from fugu.operators.swellfish.ts_strategies import TSUniform


class TsUniformOperator(PolicyOperator):
    """Release figures as `uniform` does, with noise for what policies hide at the tick."""

    order = 506
    example = PolicyOperator.example + "window: 96\n"
    windowed = True
    strategy_class = TSUniform
    kind: Literal["ts_uniform"]
