"""Describe what is audited: a mechanism, its claims, and inputs that tell its streams apart."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from fugu.dataflows.base.errors import CannotBeAudited
from fugu.operators.auditing.enumeration import stream_probabilities
from fugu.operators.auditing.whole_batches import WholeBatches
from fugu.operators.budget import Budgeted, without_budget
from fugu.operators.guarantee import Change, Guarantee, Notion
from fugu.operators.mechanism import Array, EnumerableMechanism, Floats, Mechanism, State
from fugu.operators.responses.randomized_response import RandomizedResponse
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import Chain
from fugu.operators.sip.robust_release import RobustRelease
from fugu.operators.wevent_local.window_reports import WindowReports

ATTACKED: tuple[Change, ...] = ("believed", "replaced", "replaced-or-none", "presence")
"""Name the changes of records that an attack can make."""
_RELATIVE_TO_A_MODEL = (ConditionalRandomizedResponse, AdaptiveRelease, BatchedRelease)


@dataclass(frozen=True)
class Claim:
    """Claim nats and delta per `window` of releases, and the most over a stream's life.

    `change` says what neighbours may have instead of a record; with `absent`, none as well.
    """

    notion: Notion
    epsilon: float
    delta: float
    total: float = inf
    change: Change = "replaced"
    absent: bool = False
    window: int = 1

    def over(self, releases: int) -> float:
        """Return what so many releases may leak together."""
        return min(-(-releases // self.window) * self.epsilon, self.total)


@dataclass(frozen=True, eq=False)
class Subject:
    """Hold a mechanism with `inputs` to attack it with, first and last as different as can be.

    A release is about `records` records. Streams begin at the state `start` of one row, or fresh;
    `phase` says where that is, and is empty at the beginning.
    """

    mechanism: Mechanism
    claims: tuple[Claim, ...]
    inputs: Array
    model: Chain | None = None
    sound: bool = True
    ledger_factor: float = 1.0
    """Multiply what the ledger counts by this, for readers without the model."""
    records: int = 1
    start: State | None = None
    phase: str = ""
    draining: bool = False
    """Say whether streams end within a batch of so many records."""
    others: tuple[Chain, ...] = ()
    """Hold other models that the claim relative to the model is about, too."""

    @classmethod
    def of(
        cls,
        mechanism: Mechanism,
        epsilon: float,
        inputs: Array | None = None,
        learned: Chain | None = None,
    ) -> "Subject":
        """Take what a mechanism claims; one whose claim does not hold claims `epsilon`.

        Without `inputs`, all symbols are. A stream that has `learned` a model has that one.
        """
        inside = without_budget(mechanism)
        model = inside.model if isinstance(inside, _RELATIVE_TO_A_MODEL) else learned
        totals = {
            guarantee.notion: guarantee.epsilon
            for guarantee in mechanism.guarantees()
            if guarantee.per == "stream" and guarantee.sound
        }
        claims = tuple(
            _claim(guarantee, epsilon, totals.get(guarantee.notion, inf))
            for guarantee in inside.guarantees()
            if _attacked(guarantee, model)
        )
        if not claims:
            raise CannotBeAudited(
                f"operators of kind {mechanism.kind} promise nothing per release of a stream that "
                "fugu audit can attack. Read fugu explain instead"
            )
        believed = any(g.neighbours.change == "believed" for g in inside.guarantees())
        return cls(
            mechanism,
            claims,
            _symbols(inside, model) if inputs is None else inputs,
            model,
            sound=all(guarantee.sound for guarantee in inside.guarantees()),
            ledger_factor=2.0 if model is None and believed else 1.0,
            records=inside.window if isinstance(inside, BatchedRelease) else 1,
            others=tuple(inside.intervals.members()) if isinstance(inside, RobustRelease) else (),
        )

    @property
    def belief(self) -> Floats:
        """Return what the model says of the next record, given all before."""
        if self.start is not None and "belief" in self.start:
            return np.asarray(self.start["belief"][0])
        assert self.model is not None
        return self.model.start

    def believed(self, records: int) -> Iterator[Floats]:
        """Yield how likely each truth of so many records is, for each model of the claim.

        Where streams do not begin afresh, only the belief under the model itself is known.
        """
        assert self.model is not None
        yield stream_probabilities(self.model, records, self.belief)
        for other in self.others if self.start is None else ():
            yield stream_probabilities(other, records)

    @property
    def enumerable(self) -> EnumerableMechanism | None:
        """Return the mechanism, release by release, if its law can be written down."""
        mechanism = self.mechanism
        inside = without_budget(mechanism)
        if isinstance(inside, BatchedRelease):
            if not isinstance(mechanism, Budgeted):
                return WholeBatches(inside, self.records if self.draining else None)
            if mechanism.window is not None or self.draining:
                return None
            mechanism = replace(mechanism, mechanism=WholeBatches(inside))
        if isinstance(mechanism, EnumerableMechanism) and mechanism.outcomes[0]:
            return mechanism
        return None

    def after(self, phase: str, start: State, share: float = 1.0) -> "Subject":
        """Return the same later, with this share of what a stream may leak in its life left."""
        claims = tuple(replace(claim, total=share * claim.total) for claim in self.claims)
        return replace(self, phase=phase, start=start, claims=claims)

    def drained(self, records: int) -> "Subject":
        """Return the same for streams that end after so many records of their first batch."""
        phase = f"of a last batch of length {records}"
        return replace(self, records=records, phase=phase, draining=True)

    @property
    def unattacked(self) -> list[str]:
        """List the promises that no attack of this family is about."""
        return [
            f"{guarantee.notion} per {guarantee.per}, against {guarantee.adversary}"
            for guarantee in without_budget(self.mechanism).guarantees()
            if not _attacked(guarantee, self.model)
        ]


def _attacked(guarantee: Guarantee, model: Chain | None) -> bool:
    change = guarantee.neighbours.change
    possible = change in ATTACKED and (change != "believed" or model is not None)
    return possible and guarantee.per in ("release", "window")


def _claim(guarantee: Guarantee, epsilon: float, total: float) -> Claim:
    neighbours = guarantee.neighbours
    return Claim(
        guarantee.notion,
        guarantee.epsilon if guarantee.sound else epsilon,
        guarantee.total_delta,
        total,
        neighbours.change,
        absent=neighbours.change in ("replaced-or-none", "presence")
        or "presence" not in neighbours.kept,
        window=guarantee.window or 1,
    )


def _symbols(inside: Mechanism, model: Chain | None) -> Array:
    if model is not None:
        return np.argsort(-model.prior, kind="stable")
    if isinstance(inside, WindowReports):
        return np.arange(inside.inputs)
    if isinstance(inside, RandomizedResponse):
        return np.arange(inside.symbols)
    if isinstance(inside, EnumerableMechanism):
        return np.arange(inside.outcomes[0])
    raise CannotBeAudited(
        f"fugu audit does not know which inputs an operator of kind {inside.kind} takes"
    )
