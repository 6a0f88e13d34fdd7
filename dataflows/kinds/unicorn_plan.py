from typing import Literal

from fugu.dataflows.kinds.families.policies import PolicyOperator
from fugu.operators.swellfish.planning import UnicornPlan


class UnicornPlanOperator(PolicyOperator):
    """Release figures at every tick that matters, with shares planned ahead over calendars."""

    order = 503
    strategy_class = UnicornPlan
    kind: Literal["unicorn_plan"]
