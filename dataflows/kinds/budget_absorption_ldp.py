from typing import Literal

from fugu.dataflows.kinds.families.window_reports import ComparingReportsOperator
from fugu.operators.wevent_local.strategies import LocalBudgetAbsorption


class BudgetAbsorptionLdpOperator(ComparingReportsOperator):
    """Report sets anew where the last one has become wrong, with what silent ones left."""

    order = 112
    mechanism_class = LocalBudgetAbsorption

    kind: Literal["budget_absorption_ldp"]
