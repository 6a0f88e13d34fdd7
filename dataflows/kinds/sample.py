from typing import Literal

from fugu.dataflows.kinds.families.w_event import WEventOperator
from fugu.operators.wevent.spread_strategies import Sample


class SampleOperator(WEventOperator):
    """Release figures at one tick of every window, with the whole budget."""

    order = 401
    strategy_class = Sample
    kind: Literal["sample"]
