from typing import Literal, Self

from pydantic import model_validator

from fugu.dataflows.kinds.families.policies import PolicyOperator
from fugu.operators.swellfish.programme import require_solver
from fugu.operators.swellfish.unicorn_plan import UnicornPlan


class UnicornPlanOperator(PolicyOperator):
    """Release figures at every tick that matters, with shares planned ahead over calendars."""

    order = 509
    strategy_class = UnicornPlan
    kind: Literal["unicorn_plan"]

    @model_validator(mode="after")
    def _solver(self) -> Self:
        require_solver()
        return self
