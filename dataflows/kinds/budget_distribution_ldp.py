from typing import Literal

from fugu.dataflows.kinds.families.window_reports import ComparingReportsOperator
from fugu.operators.wevent_local.strategies import LocalBudgetDistribution


class BudgetDistributionLdpOperator(ComparingReportsOperator):
    """Report sets anew where the last one has become wrong, with half of the rest of a window."""

    order = 111
    mechanism_class = LocalBudgetDistribution

    kind: Literal["budget_distribution_ldp"]
