from typing import Literal

from fugu.dataflows.kinds.families.policies import PolicyOperator
from fugu.operators.swellfish.ts_strategies import TSSample


class TsSampleOperator(PolicyOperator):
    """Release figures as `sample` does, with noise for what policies hide at the tick."""

    order = 507
    example = PolicyOperator.example + "window: 96\n"
    windowed = True
    strategy_class = TSSample
    kind: Literal["ts_sample"]
