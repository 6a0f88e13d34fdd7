from typing import Annotated, Literal

from pydantic import Field

from fugu.dataflows.kinds.families.w_event import WEventOperator
from fugu.operators.mechanism import Mechanism
from fugu.operators.wevent.rescue_dp import RescueDp


class RescueDpOperator(WEventOperator):
    """Release groups that change together as one, at ticks that errors choose, filtered."""

    order = 406
    noise = "filtered"
    strategy_class = RescueDp

    kind: Literal["rescue_dp"]
    process_variance: Annotated[float, Field(gt=0, le=1e18, strict=False)] | None = None
    """Say how much a figure moves from tick to tick; by default, it is estimated."""

    def strategy(self) -> Mechanism:
        variance, most = self.process_variance or 0.0, self.largest_contribution
        squared = variance * self.units_per_one**2
        return self._made(RescueDp, self._cap(), squared, contribution=most)
