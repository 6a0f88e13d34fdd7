from typing import Literal, Self

from pydantic import ValidationInfo, field_validator, model_validator

from fugu.dataflows.kinds.crr import CrrOperator, ModelStep
from fugu.operators.sip.paper_conditional_randomized_response import (
    PaperConditionalRandomizedResponse,
)


class PaperCrrOperator(CrrOperator):
    """Release as `crr` does in print, whose claim does not hold: a baseline for comparison."""

    order = 101
    example = CrrOperator.example + "accept_unsound: true\n"
    protected = "nothing: its own claim fails for beliefs below 1/(e^epsilon + 1)"
    mechanism_class = PaperConditionalRandomizedResponse

    source_budget = False

    kind: Literal["paper_crr"]  # type: ignore[assignment]

    @field_validator("mode", "distance", "kernel")
    @classmethod
    def _check_choice(cls, choice: object, before: ValidationInfo) -> object:
        raise ValueError("paper_crr has no such choice; delete it, or write kind: crr")

    @field_validator("step")
    @classmethod
    def _check_step(cls, step: ModelStep | None) -> ModelStep | None:
        raise ValueError("paper_crr knows no time; delete it, or write kind: crr")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.accept_unsound:
            raise ValueError(
                "paper_crr breaks its own privacy claim and is a baseline for comparison; "
                "write kind: crr, or accept_unsound: true if you know why you want it"
            )
        return self
