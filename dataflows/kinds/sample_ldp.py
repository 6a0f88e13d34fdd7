from typing import Literal

from fugu.dataflows.kinds.families.window_reports import WindowReportsOperator
from fugu.operators.wevent_local.strategies import LocalSample


class SampleLdpOperator(WindowReportsOperator):
    """Report a set once in each window, with all of its budget, and repeat it."""

    order = 114
    mechanism_class = LocalSample

    kind: Literal["sample_ldp"]
