"""Conditional randomized response that spends by a public table."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from fugu.operators.byte_fields import binding_digest
from fugu.operators.mechanism import Floats, Guarantee
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import HAMMING
from fugu.operators.sip.guarantees import crr_guarantees, with_gaps
from fugu.operators.sip.identity_kernel import IdentityKernel
from fugu.operators.sip.integer_law import IntegerLaw
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.privacy_bound import PrivacyBound
from fugu.operators.sip.privacy_bounds import PrivacyBounds
from fugu.operators.sip.private_law import SymbolLaw
from fugu.operators.sip.spending_plan import SILENT, SpendingPlan, plan_of


@dataclass(frozen=True, eq=False)
class PlannedRelease(ConditionalRandomizedResponse):
    """Release a bit per record, and spend most where the belief is least sure.

    A public table, fixed when the mechanism is configured, says for each belief how many nats its
    release may spend (`spending_plan`): none while the belief is sure, more than the mean where it
    is not. It is adopted only where a simulation at construction shows fewer wrong releases than
    constant epsilons of no larger mean; else this is plain conditional randomized response with
    `epsilon`, and says so (`plan`).

    Claim. What a release may spend is a function of the releases before it, so every release leaks
    at most that much relative to the declared model, and leakages add up whatever path releases
    took: a stream that spent E nats satisfies Sequence Information Privacy (SIP) with E relative to
    the model, and 2 E for any prior or correlation. A single release may leak `most` nats.
    `epsilon` is the *mean* under the model alone, of records that are one step apart: the table may
    spend a fiftieth more. With `gaps` beliefs age between records, are less sure, and cost more, up
    to `most` for each. What a stream may spend in its life is bounded by the total of a `Budgeted`
    mechanism around it.

    Parameters: `model`, a dense chain over 2 symbols; `epsilon`, the mean nats per release without
    gaps, 0 < epsilon <= 50; `gaps` as in conditional randomized response. There is no distance,
    mode or kernel to choose. Input, release, annotations and state are those of conditional
    randomized response.

    Raises `ValueError` for another alphabet or kind of chain, a bad epsilon, or another choice.

    >>> model = MarkovModel(np.array([0.1, 0.9]), np.array([[0.9, 0.1], [0.1, 0.9]]))
    >>> planned = PlannedRelease(model, epsilon=1.0)
    >>> planned.plan is not None, planned.most
    (True, 2.5)
    >>> planned.release_law(planned.start(1))[0].round(3).tolist()
    [[0.0, 1.0], [0.0, 1.0]]

    Source: symbol sampling specification, section 8; SIP specification, section 7 (budgets that
    follow past releases).
    """

    kind: ClassVar[str] = "planned_crr"
    implementation: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if (self.distance, self.mode, self.kernel) != (HAMMING, "optimal", "heuristic"):
            raise ValueError(
                "planned_crr: has no distance, mode or kernel to choose; leave them out"
            )
        if type(self.model) is not MarkovModel:
            raise ValueError(
                "model: spending is planned for a matrix of first order alone; write kind: crr"
            )
        super().__post_init__()
        self.law(self.model.prior[:, None])

    @cached_property
    def plan(self) -> SpendingPlan | None:
        """Return the table; None where constant spending is as good, and the mechanism is plain."""
        made = self.simulated
        return made if made.gains else None

    @cached_property
    def simulated(self) -> SpendingPlan:
        """Return the table and what its simulation says, whether it is adopted or not."""
        assert isinstance(self.model, MarkovModel)
        return plan_of(self.model, self.epsilon)

    @property
    def most(self) -> float:
        """Return the most nats that one release may leak."""
        return self.epsilon if self.plan is None else self.plan.largest

    @cached_property
    def largest_charge(self) -> int:
        return PrivacyBound.of(self.most).charge

    def law(self, belief: Floats, doubt: Floats | None = None) -> SymbolLaw:
        """Return the law for each belief at the epsilon of the table."""
        if self.plan is None:
            return super().law(belief, doubt)
        if doubt is None:
            doubt = np.full(belief.shape[1], self.doubts[0])
        choice = self.plan.chosen(belief[1])
        silent = choice == SILENT
        proposal = IdentityKernel().propose(belief).silenced(silent, belief.argmax(axis=0))
        bounds = self._bounds.at(choice)
        return IntegerLaw.of(belief, proposal, bounds, bounds.reserve, doubt)

    def guarantees(self) -> tuple[Guarantee, ...]:
        promised = crr_guarantees(epsilon=self.most)
        return promised if self.gaps is None else with_gaps(promised, self.gaps)

    def audit(self) -> Mapping[str, object]:
        made = self.simulated
        return {
            **super().audit(),
            "planned spending": "adopted" if made.gains else "not adopted: as crr with epsilon",
            "share of wrong releases by the plan, and by constant spending (simulated)": [
                made.error,
                made.constant_error,
            ],
            "nats per release by the plan, and by constant spending (simulated)": [
                made.spent,
                made.constant_spent,
            ],
            "most nats of one release": self.most,
        }

    def law_digest(self) -> bytes:
        plan = self.plan
        if plan is None:
            return binding_digest(super().law_digest(), "constant")
        table = plan.epsilons.astype("<f8").tobytes(), plan.choices.astype("<i8").tobytes()
        return binding_digest(super().law_digest(), *table)

    @cached_property
    def _bounds(self) -> PrivacyBounds:
        """Return what each epsilon of the table allows; the first, which is not used, as any."""
        assert self.plan is not None
        each = [PrivacyBound.of(epsilon) for epsilon in self.plan.epsilons[1:].tolist()]
        return PrivacyBounds.of([each[0], *each], self.model.symbols)
