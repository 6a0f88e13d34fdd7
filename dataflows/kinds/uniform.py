from typing import Literal

from fugu.dataflows.kinds.families.w_event import WEventOperator
from fugu.operators.wevent.uniform import Uniform


class UniformOperator(WEventOperator):
    """Release figures at every tick, each with an even share of the budget."""

    order = 400
    strategy_class = Uniform
    kind: Literal["uniform"]
