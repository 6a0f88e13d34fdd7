from typing import Literal

from fugu.dataflows.kinds.families.window_reports import WindowReportsOperator
from fugu.operators.wevent_local.strategies import LocalUniform


class UniformLdpOperator(WindowReportsOperator):
    """Report a set every time, with an equal share of the budget of a window."""

    order = 113
    mechanism_class = LocalUniform

    kind: Literal["uniform_ldp"]
