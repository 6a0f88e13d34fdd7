from typing import Literal

from fugu.dataflows.kinds.families.policies import PolicyOperator
from fugu.operators.swellfish.interval_strategies import TINARSample


class TinarSampleOperator(PolicyOperator):
    """Release figures once in each relevance interval, with noise for a whole contribution."""

    order = 505
    strategy_class = TINARSample
    kind: Literal["tinar_sample"]
