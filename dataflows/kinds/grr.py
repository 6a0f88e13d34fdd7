from collections.abc import Mapping
from typing import ClassVar, Literal

from fugu.dataflows.kinds.families.responses import ResponseOperator
from fugu.dataflows.kinds.families.section import Files
from fugu.operators.mechanism import Mechanism
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse


class GrrOperator(ResponseOperator):
    """Release the true symbol, or by chance any other one (generalized randomized response)."""

    order = 105
    mechanism_class = GeneralizedRandomizedResponse
    instead: ClassVar[Mapping[str, str]] = {
        "output": "output is for kind: oue only; grr releases a symbol. Delete it"
    }

    kind: Literal["grr"]

    def mechanism(self, files: Files) -> Mechanism:
        return GeneralizedRandomizedResponse(len(self.alphabet), float(self.epsilon))
