from typing import Literal, Self

from pydantic import model_validator

from fugu.dataflows.kinds.families.w_event import WEventOperator
from fugu.operators.mechanism import Mechanism
from fugu.operators.wevent.pegasus import Pegasus


class PegasusOperator(WEventOperator):
    """Release figures of every tick, smoothed over ticks that noisy tests find alike (PeGaSus)."""

    order = 409
    noise = "filtered"

    kind: Literal["pegasus"]

    @model_validator(mode="after")
    def _check_correlation(self) -> Self:
        if self.correlation is not None:
            raise ValueError(
                "correlation: a group of pegasus is about many ticks, and what it tells about one "
                "of them is not known; delete it"
            )
        return self

    def strategy(self) -> Mechanism:
        return self._made(Pegasus)
