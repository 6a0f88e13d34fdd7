from typing import Literal, Self

from pydantic import model_validator

from fugu.dataflows.kinds.families.conditional import ConditionalOperator
from fugu.operators.sip.conditional_randomized_response import PaperConditionalRandomizedResponse


class PaperCrrOperator(ConditionalOperator):
    """Release as the paper of `crr` says, whose claim does not hold: a baseline for comparison."""

    order = 101
    example = ConditionalOperator.example + "accept_unsound: true\n"
    protected = "nothing: its own claim fails for beliefs below 1/(e^epsilon + 1)"
    mechanism_class = PaperConditionalRandomizedResponse

    source_budget = False

    kind: Literal["paper_crr"]
    accept_unsound: bool = False
    """Say whether a claim that is known not to hold is accepted, to reproduce a paper."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.accept_unsound:
            raise ValueError(
                "paper_crr breaks its own privacy claim and is a baseline for comparison; "
                "write kind: crr, or accept_unsound: true if you know why you want it"
            )
        return self
