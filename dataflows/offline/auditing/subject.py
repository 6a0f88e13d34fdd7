"""Describe what is audited: a mechanism, its claims, and inputs that tell its streams apart."""

from dataclasses import dataclass
from math import inf

import numpy as np

from fugu.dataflows.base.errors import CannotBeAudited
from fugu.operators.budget import without_budget
from fugu.operators.mechanism import Array, EnumerableMechanism, Mechanism, Notion
from fugu.operators.responses.randomized_response import RandomizedResponse
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.chain import Chain
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse

ATTACKED: tuple[Notion, ...] = ("sip", "ldp")
_RELATIVE_TO_A_MODEL = (ConditionalRandomizedResponse, AdaptiveRelease, BatchedRelease)


@dataclass(frozen=True)
class Claim:
    """Claim nats and delta per release, and the most over a stream's life."""

    notion: Notion
    epsilon: float
    delta: float
    total: float = inf

    def over(self, releases: int) -> float:
        """Return what so many releases may leak together."""
        return min(releases * self.epsilon, self.total)


@dataclass(frozen=True, eq=False)
class Subject:
    """Hold a mechanism with `inputs` to attack it with, first and last as different as can be."""

    mechanism: Mechanism
    claims: tuple[Claim, ...]
    inputs: Array
    model: Chain | None = None
    sound: bool = True
    ledger_factor: float = 1.0
    """What the ledger counts once for readers with the model, it counts so often without one."""

    @classmethod
    def of(cls, mechanism: Mechanism, epsilon: float, inputs: Array | None = None) -> "Subject":
        """Take what a mechanism claims; one whose claim does not hold claims `epsilon`.

        Without `inputs`, all symbols are.
        """
        inside = without_budget(mechanism)
        model = inside.model if isinstance(inside, _RELATIVE_TO_A_MODEL) else None
        without_one = model is None and any(g.notion == "sip" for g in inside.guarantees())
        attacked = [notion for notion in ATTACKED if notion != "sip" or model is not None]
        totals = {
            guarantee.notion: guarantee.epsilon
            for guarantee in mechanism.guarantees()
            if guarantee.per == "stream" and guarantee.sound
        }
        claims = tuple(
            Claim(
                guarantee.notion,
                guarantee.epsilon if guarantee.sound else epsilon,
                guarantee.total_delta,
                totals.get(guarantee.notion, inf),
            )
            for guarantee in inside.guarantees()
            if guarantee.notion in attacked and guarantee.per == "release"
        )
        if not claims:
            raise CannotBeAudited(
                f"operators of kind {mechanism.kind} promise nothing that fugu audit can attack; "
                f"it knows the notions {' and '.join(ATTACKED)}. Read fugu explain instead"
            )
        sound = all(guarantee.sound for guarantee in inside.guarantees())
        factor = 2.0 if without_one else 1.0
        return cls(
            mechanism,
            claims,
            _symbols(inside, model) if inputs is None else inputs,
            model,
            sound,
            factor,
        )

    @property
    def enumerable(self) -> EnumerableMechanism | None:
        """Return the mechanism, if its law can be written down."""
        mechanism = self.mechanism
        if isinstance(mechanism, EnumerableMechanism) and mechanism.outcomes[0]:
            return mechanism
        return None


def _symbols(inside: Mechanism, model: Chain | None) -> Array:
    if model is not None:
        return np.argsort(-model.prior, kind="stable")
    if isinstance(inside, RandomizedResponse):
        return np.arange(inside.symbols)
    if isinstance(inside, EnumerableMechanism):
        return np.arange(inside.outcomes[0])
    raise CannotBeAudited(
        f"fugu audit does not know which inputs an operator of kind {inside.kind} takes"
    )
