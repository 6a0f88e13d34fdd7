from typing import Literal

from fugu.dataflows.kinds.families.correlation import FlagsSection, local_flags_of
from fugu.dataflows.kinds.families.window_reports import ComparingReportsOperator
from fugu.operators.wevent_local.strategies import LocalPrivacyBudgetAllocation


class PbaLdpOperator(ComparingReportsOperator):
    """Report sets anew where the last one has become wrong; flagged reports absorb budgets."""

    order = 110
    mechanism_class = LocalPrivacyBudgetAllocation

    kind: Literal["pba_ldp"]
    flags: FlagsSection = False
    """Say which records, or ticks, are flagged as correlated; a flagged one may take two shares."""

    @property
    def more(self) -> dict[str, object]:
        return {**super().more, "flags": local_flags_of(self.flags, self.window)}
