from typing import Annotated, Literal, Self

from pydantic import Field

from fugu.dataflows.base.section import Epsilon
from fugu.dataflows.kinds.families.distances import (
    GoodEnough,
    PlacedSymbols,
    distance_between,
    in_words,
)
from fugu.dataflows.kinds.families.models import ModelOperator
from fugu.dataflows.kinds.families.section import Files
from fugu.dataflows.kinds.families.symbols import SymbolOperator
from fugu.operators.mechanism import Mechanism
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.distances import Points

RIVAL_DECISION = 0.25
"""The share of its nats that a decision takes where another kind is compared with it."""


class AdaptiveCrrOperator(ModelOperator, SymbolOperator):
    """Release a symbol as `crr` where the last one has become wrong, and repeat it elsewhere."""

    order = 103
    mechanism_class = AdaptiveRelease
    example = ModelOperator.example + "decision_epsilon: 0.5\n"

    kind: Literal["adaptive_crr"]
    decision_epsilon: Annotated[Epsilon, Field(le=50)]
    """The nats that each record pays for the choice between fresh and repeated."""
    distance: GoodEnough = "symbol"
    """Say what good enough means: the true `symbol`, or as near as expected: `steps`, or points."""

    @property
    def nats_per_release(self) -> float:
        return self.decision_epsilon + self.epsilon

    @classmethod
    def spending(cls, nats: float, own: Self | None = None) -> dict[str, object]:
        share = RIVAL_DECISION if own is None else own.decision_epsilon / own.nats_per_record
        return {"decision_epsilon": share * nats, "epsilon": nats - share * nats}

    def mechanism(self, files: Files) -> Mechanism:
        decision, fresh = float(self.decision_epsilon), float(self.epsilon)
        return AdaptiveRelease(self.chain(files), decision, fresh, self._apart(files))

    def _apart(self, files: Files) -> Literal["symbol", "steps"] | Points:
        if not isinstance(self.distance, PlacedSymbols):
            return self.distance
        points = distance_between(self.alphabet, self.distance, files)
        assert isinstance(points, Points)
        return points

    def parameters(self) -> dict[str, object]:
        good_enough = "if it is still the true symbol"
        if self.distance != "symbol":
            good_enough = (
                "if it is no further from the true symbol than a fresh one is expected to be"
            )
        if isinstance(self.distance, PlacedSymbols):
            good_enough += f" ({in_words(self.distance)})"
        return {
            **super().parameters(),
            "epsilon": f"{self.epsilon:g} nats per fresh release",
            "decision": f"{self.decision_epsilon:g} nats per record, fresh or repeated",
            "the last release is repeated": f"{good_enough}, up to noise",
            "model": self.model,
        }

    def how_to_read(self) -> list[str]:
        return [
            'a release marked "repeated" says that the last one is, up to noise, still good enough:'
            " that is information, and it is counted in the promise. Do not leave it out.",
            "confidence is the probability that the published symbol is the true one, given "
            "everything published; 1 minus its mean is the expected share of wrong symbols.",
            "published shares are biased towards likely symbols and towards what was there before; "
            "fugu.read(...).shares() undoes that as far as the model is right. A program of your "
            "own averages the posteriors instead (AdaptiveRelease.observe, over all records in "
            "order).",
        ]
