from typing import Literal

from fugu.dataflows.kinds.families.policies import PolicyOperator
from fugu.operators.swellfish.interval_strategies import UnicornIS


class UnicornIsOperator(PolicyOperator):
    """Release figures once in each relevance interval, with the whole budget."""

    order = 501
    strategy_class = UnicornIS
    kind: Literal["unicorn_is"]
