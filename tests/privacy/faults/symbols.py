"""Plant faults in randomized response, conditional or not, and in its ledger."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fugu.dataflows.kinds import adaptive_crr, robust_crr
from fugu.dataflows.kinds.crr import CrrOperator
from fugu.dataflows.kinds.planned_crr import PlannedCrrOperator
from fugu.operators.budget_units import exact_exp, exact_expm1, units_of
from fugu.operators.mechanism import Draws, Floats, Inputs, Integers, Releases, State, Words
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.hamming_kernel import HammingKernel
from fugu.operators.sip.markov_model import MarkovModel, ordered_sum
from fugu.operators.sip.model_sets import ModelIntervals
from fugu.operators.sip.planar_isotropic_response import LocationSets, PlanarIsotropicResponse
from fugu.operators.sip.planned_release import PlannedRelease
from fugu.operators.sip.release_law import ReleaseLaw
from fugu.operators.sip.robust_release import HIGH, LOW, RobustRelease
from tests.privacy import test_local_laws as local_laws
from tests.privacy import test_location_sets as location_sets
from tests.privacy.faults.planted import InAudit, InTest, Planted, Replacing

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


@dataclass(frozen=True)
class TruthfulDecision:
    """Draw the first of all words for decisions, which answers with the truth."""

    draws: Draws

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        words = self.draws.words(purpose, binding, coordinates=coordinates, count=count)
        return np.zeros_like(words) if purpose == "decision" else words


class DecidesOnTheTruth(AdaptiveRelease):
    """Repeat exactly where the last release is still right."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        return super().step(state, inputs, TruthfulDecision(draws))


class EnvelopeOfTheMiddleModel(RobustRelease):
    """Predict the interval of a belief by the declared model alone, not by its set of models."""

    def _after_release(self, state: State, law: Any, released: Integers) -> tuple[State, Floats]:
        assert isinstance(self.model, MarkovModel)
        middle = replace(self, intervals=ModelIntervals.around(self.model))
        return super(EnvelopeOfTheMiddleModel, middle)._after_release(state, law, released)


class EnvelopeNotCorrected(RobustRelease):
    """Keep the interval of a belief as if nothing had been released."""

    def _after_release(self, state: State, law: Any, released: Integers) -> tuple[State, Floats]:
        after, posterior = super()._after_release(state, law, released)
        skipped, _ = self.skip(state, released)
        return {**after, LOW: skipped[LOW], HIGH: skipped[HIGH]}, posterior


class ChargedTheMeanAtMost(PlannedRelease):
    """Charge no release more than the mean that spending is planned for."""

    def _after_release(self, state: State, law: Any, released: Integers) -> tuple[State, Floats]:
        after, posterior = super()._after_release(state, law, released)
        charge = np.minimum(after["spent"] - state["spent"], units_of(self.epsilon))
        return {**after, "spent": state["spent"] + charge}, posterior


class SpendsByTheTruth(PlannedRelease):
    """Look the truth up in the table, and not the belief, to see what its release may spend."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        known = np.eye(2)[inputs.values] * 0.2 + state["belief"] * 0.8
        _, releases = super().step({**state, "belief": known}, inputs, draws)
        return self.follow(state, releases.values), releases


class SetOfTheTruePath(PlanarIsotropicResponse):
    """Take the delta-location set from the true cell before, as a support given raw values does."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        points = np.eye(self.model.symbols)[:, inputs.values]
        return {**after, "belief": self.model.skip(points).T}, releases


class CellsOutsideAsThemselves(PlanarIsotropicResponse):
    """Release a true cell outside the delta-location set as it is, without a surrogate."""

    def _answered(self, sets: LocationSets, cells: Integers, words: Words) -> Integers:
        outside = ~sets.members[cells, np.arange(len(cells))]
        return np.where(outside, cells, super()._answered(sets, cells, words))


class FiftyThreeBits(GeneralizedRandomizedResponse):
    """Compare the leading 53 bits of a word, which are those of a double."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        symbols = self._checked_symbols(inputs)
        word = draws.words("release", self._bound_to(symbols))[:, 0, 0]
        coarse = word >> np.uint64(11) << np.uint64(11)
        return self._spent_after(state), Releases(self.odds.answer(symbols, coarse))


def _uncounted(kind: type[GeneralizedRandomizedResponse]) -> tuple[int, float]:
    """Forget what was counted of another class, and choose symbols and epsilon."""
    local_laws.grr_law.cache_clear()
    return 3, 15.0


COUNTED = Replacing(
    local_laws,
    "GeneralizedRandomizedResponse",
    InTest(local_laws.test_grr_leaks_exactly_what_it_claims_and_charges, _uncounted),
)
ADAPTIVE_AUDIT = Replacing(adaptive_crr, "AdaptiveRelease", InAudit("adaptive_crr"))
ROBUST_AUDIT = Replacing(robust_crr, "RobustRelease", InAudit("robust_crr"))
PLANNED_AUDIT = Replacing(PlannedCrrOperator, "mechanism_class", InAudit("planned_crr"))
AUDIT = Replacing(CrrOperator, "mechanism_class", InAudit("crr"))
SETS = InTest(
    location_sets.test_what_can_be_released_says_nothing_about_cells_or_earlier_cells,
    lambda planted: (planted,),
)
PIM = PlanarIsotropicResponse
PLANTED = (
    Planted("law of 53 bits", GeneralizedRandomizedResponse, FiftyThreeBits, COUNTED),
    Planted(
        "decision taken on truth",
        AdaptiveRelease,
        DecidesOnTheTruth,
        ADAPTIVE_AUDIT,
        false_alarm=1e-3,
    ),
    Planted("filter that sees raw values", PIM, SetOfTheTruePath, SETS),
    Planted("cell outside its set", PIM, CellsOutsideAsThemselves, SETS),
    Planted(
        "interval of the middle model",
        RobustRelease,
        EnvelopeOfTheMiddleModel,
        ROBUST_AUDIT,
        false_alarm=1e-3,
    ),
    Planted(
        "interval not corrected",
        RobustRelease,
        EnvelopeNotCorrected,
        ROBUST_AUDIT,
        false_alarm=1e-3,
    ),
    Planted(
        "mean charged at most",
        PlannedRelease,
        ChargedTheMeanAtMost,
        PLANNED_AUDIT,
        false_alarm=1e-3,
    ),
    Planted(
        "spending that sees raw values",
        PlannedRelease,
        SpendsByTheTruth,
        PLANNED_AUDIT,
        false_alarm=1e-3,
    ),
    Planted("belief not updated", CRR, BeliefNotUpdated, AUDIT, false_alarm=1e-3),
    Planted("first release free of charge", CRR, FirstStepFree, AUDIT, false_alarm=1e-3),
    Planted("law of another symbol", CRR, WrongIndexOffTheDiagonal, AUDIT, false_alarm=1e-3),
)
