from typing import Literal

from fugu.dataflows.kinds.families.correlation import FlagsSection, flags_of
from fugu.dataflows.kinds.families.w_event import WEventOperator
from fugu.operators.mechanism import Mechanism
from fugu.operators.wevent.pba import PrivacyBudgetAllocation


class PbaOperator(WEventOperator):
    """Release figures as `budget_distribution` does, for half as much where no flag is set."""

    order = 404
    strategy_class = PrivacyBudgetAllocation

    kind: Literal["pba"]
    flags: FlagsSection = False
    """Say which ticks are flagged as correlated; a flagged one may spend twice as much."""

    def strategy(self) -> Mechanism:
        return self._made(self.strategy_class, self._cap(), flags_of(self.flags))
