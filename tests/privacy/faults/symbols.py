"""Plant faults in randomized response, conditional or not, and in its ledger."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fugu.dataflows.kinds.crr import CrrOperator
from fugu.operators.budget_units import exact_exp, exact_expm1
from fugu.operators.mechanism import Floats, Integers, State
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.hamming_kernel import HammingKernel
from fugu.operators.sip.markov_model import ordered_sum
from fugu.operators.sip.release_law import ReleaseLaw
from tests.privacy.faults.planted import InAudit, Planted, Replacing

FAMILY = "records"
CRR = ConditionalRandomizedResponse


class BeliefNotUpdated(ConditionalRandomizedResponse):
    """Make every release as if it were the first."""

    def _after_release(self, state: State, law: Any, released: Integers) -> tuple[State, Floats]:
        after, posterior = super()._after_release(state, law, released)
        return {**after, "belief": state["belief"].copy()}, posterior


class FirstStepFree(ConditionalRandomizedResponse):
    """Begin the ledger with the second release."""

    def _after_release(self, state: State, law: Any, released: Integers) -> tuple[State, Floats]:
        after, posterior = super()._after_release(state, law, released)
        free = state["releases"] == 0
        return {**after, "spent": np.where(free, state["spent"], after["spent"])}, posterior


@dataclass(frozen=True, eq=False)
class WrongIndexLaw(ReleaseLaw):
    """Compute a(y|x) with m(x) in the place of m(y)."""

    def probabilities(self, symbols: Integers) -> Floats:
        weights = self._weights(symbols)
        return weights / ordered_sum(weights)

    def sample(self, symbols: Integers, uniforms: Floats) -> Integers:
        cumulative = np.cumsum(self._weights(symbols), axis=0)
        drawn: Integers = (cumulative <= uniforms * cumulative[-1]).sum(axis=0)
        return drawn

    def _weights(self, symbols: Integers) -> Floats:
        mass = self.mass[symbols, np.arange(len(symbols))]
        spread = np.where(self.proposal.support, mass, 0.0)
        return np.asarray(spread + self.gain * self.proposal.row(symbols))


class WrongIndexOffTheDiagonal(ConditionalRandomizedResponse):
    """Draw as the printed Theorem 4, with the belief in x where that in y is meant."""

    def law(self, belief: Floats, doubt: Floats | None = None) -> ReleaseLaw:
        gain, growth = exact_expm1(self.epsilon), exact_exp(self.epsilon)
        proposal = HammingKernel(gain, growth).propose(belief)
        right = ReleaseLaw.repaired(belief, proposal, gain, growth)
        return WrongIndexLaw(belief, proposal, gain, right.marginal, right.largest, right.mass)


AUDIT = Replacing(CrrOperator, "mechanism_class", InAudit("crr"))
PLANTED = (
    Planted("belief not updated", CRR, BeliefNotUpdated, AUDIT, false_alarm=1e-3),
    Planted("first release free of charge", CRR, FirstStepFree, AUDIT, false_alarm=1e-3),
    Planted("law of another symbol", CRR, WrongIndexOffTheDiagonal, AUDIT, false_alarm=1e-3),
)
