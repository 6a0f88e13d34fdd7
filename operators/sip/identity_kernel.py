"""The proposal kernel of `mode: full_support`."""

from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Floats
from fugu.operators.sip.proposal import Kernel
from fugu.operators.sip.stay_or_fill import StayOrFill


@dataclass(frozen=True)
class IdentityKernel(Kernel):
    """Propose every symbol for itself, pi(x|x) = 1, so that every symbol is releasable.

    For those to whom a constant output is unacceptable; poor for large alphabets. Where no belief
    is below 1/(e^eps + 1), the repair leaves it alone and the law is the paper's own. Its proposal
    does not depend on the belief at all. Source: SIP specification sections 2 and 3.6.
    """

    def propose(self, belief: Floats) -> StayOrFill:
        nothing, nobody = np.zeros_like(belief), np.zeros_like(belief, dtype=bool)
        return StayOrFill(
            support=~nobody,
            own=np.ones_like(belief),
            fill=nothing,
            partial=nobody,
            partial_fill=nothing,
            constant=np.full_like(nobody, len(belief) == 1),
        )

    def identity(self) -> tuple[str | int | bytes, ...]:
        return ("full_support", 1)
