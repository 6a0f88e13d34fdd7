"""The paper's own conditional randomized response."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import ClassVar

from fugu.operators.budget_units import LARGEST_CHARGE
from fugu.operators.mechanism import Floats, Guarantee
from fugu.operators.points import Point
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import HAMMING
from fugu.operators.sip.identity_kernel import IdentityKernel
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.release_law import ReleaseLaw

__all__ = ["MarkovModel", "PaperConditionalRandomizedResponse"]

_NO_PROOF = Point("refuted", "SIP specification, section 2, shows the claim of the paper to fail")


@dataclass(frozen=True, eq=False)
class PaperConditionalRandomizedResponse(ConditionalRandomizedResponse):
    """Release as the paper says: a labelled baseline that breaks its promise.

    It is the identity proposal without repair: m = b = beta.

        a(y|x) = beta(y) e^-eps for y != x        a(x|x) = 1 - (1 - beta(x)) e^-eps

    Claim. None that holds. It is epsilon-private only if the smallest belief is at least 1/(e^eps +
    1); otherwise its leakage is max(eps, ln[(1 - e^-eps)/beta_min + e^-eps]), without bound. It is
    here to be compared with, reports the leakage it really has, and is refused unless a pipeline
    says `accept_unsound: true`.

    Parameters: `model` and `epsilon` of `conditional_randomized_response`, and the same input,
    release and state.

    >>> import numpy as np
    >>> uniform = MarkovModel.smoothed([0.1] * 10, [[0.1] * 10] * 10, smoothing=0.0)
    >>> baseline = PaperConditionalRandomizedResponse(uniform, epsilon=1.0)
    >>> round(float(np.log(baseline.law(uniform.prior[:, None]).leakage_ratio[0])), 3)
    1.9

    Source: Jiang, Li, Tandon 2024, Theorem 4 and Algorithm 1; SIP specification section 2. (The
    printed Theorem 4 has beta(x) off the diagonal, and its rows do not sum to 1; Algorithm 1 has
    beta(y).)
    """

    kind: ClassVar[str] = "paper_crr"
    sampling: ClassVar[tuple[str | int, ...]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.distance, self.mode, self.kernel) != (HAMMING, "optimal", "heuristic"):
            raise ValueError("paper_crr: has no distance, mode or kernel to choose; leave them out")

    def law(self, belief: Floats, doubt: Floats | None = None) -> ReleaseLaw:
        """Return a(y|x) of the paper, in doubles: the unrepaired member of the family."""
        identity = IdentityKernel().propose(belief)
        marginal = identity.marginal(belief)
        largest = identity.largest()
        return ReleaseLaw(belief, identity, self._gain, marginal, largest, mass=marginal)

    @cached_property
    def largest_charge(self) -> int:
        """Return a charge above every budget: nothing bounds it."""
        return 2 * LARGEST_CHARGE

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Promise nothing."""
        claimed = super().guarantees()[0]
        return (
            replace(
                claimed,
                epsilon=inf,
                sound=False,
                proof=_NO_PROOF,
            ),
        )
