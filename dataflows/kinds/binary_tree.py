from typing import Literal, Self

from pydantic import model_validator

from fugu.dataflows.kinds.families.w_event import WEventOperator
from fugu.operators.mechanism import Mechanism
from fugu.operators.wevent.binary_tree import BinaryTree


class BinaryTreeOperator(WEventOperator):
    """Release running totals of all ticks so far, from a tree of noisy sums."""

    order = 407
    noise = "running totals"
    example = WEventOperator.example + "horizon: 96\n"

    kind: Literal["binary_tree"]
    horizon: int | None = None
    """Say how many ticks there will be; required."""

    @model_validator(mode="after")
    def _check_horizon(self) -> Self:
        if self.horizon is None:
            raise ValueError("horizon: binary_tree needs it, in ticks")
        if self.correlation is not None:
            raise ValueError(
                "correlation: a total of binary_tree is about many ticks, and what it tells about "
                "one of them is not known; delete it"
            )
        return self

    def strategy(self) -> Mechanism:
        return self._made(BinaryTree, self.horizon)
