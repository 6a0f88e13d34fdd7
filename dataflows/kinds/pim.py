from typing import Literal

from pydantic import Field

from fugu.dataflows.kinds.families.distances import Nearest, distance_between, in_words
from fugu.dataflows.kinds.families.models import ModelOperator
from fugu.dataflows.kinds.families.section import Files
from fugu.dataflows.kinds.families.symbols import SymbolOperator
from fugu.operators.mechanism import Mechanism
from fugu.operators.sip.planar_isotropic_response import PlanarIsotropicResponse


class PimOperator(ModelOperator, SymbolOperator):
    """Release one of the few symbols that are likely after all releases, by chance a wrong one."""

    order = 108
    mechanism_class = PlanarIsotropicResponse
    example = ModelOperator.example + "distance: ordered\naccept_growing_loss: true\n"
    protected = "each symbol, for any prior, per release"

    kind: Literal["pim"]
    distance: Nearest
    """Say how far apart two symbols are; a symbol outside the set is released as the nearest."""
    delta: float = Field(default=0.01, gt=0, lt=1)
    """The probability of all symbols outside the set; it is no delta of differential privacy."""
    accept_growing_loss: bool = False
    """Say whether streams may go on for life at epsilon per release, without a total budget."""

    def mechanism(self, files: Files) -> Mechanism:
        distance = distance_between(self.alphabet, self.distance, files)
        return PlanarIsotropicResponse(
            self.chain(files), float(self.epsilon), float(self.delta), distance
        )

    def check_life(self, *, limited: bool) -> None:
        if not limited and not self.accept_growing_loss:
            raise ValueError(
                "operator: pim promises epsilon for each release, and T releases of a stream are T "
                f"times {self.epsilon:g} nats: nothing limits that here. Write budget: "
                "{total: NATS} without a window, or operator.accept_growing_loss: true if a "
                "promise per release is all you want"
            )

    def parameters(self) -> dict[str, object]:
        return {
            **super().parameters(),
            "model": self.model,
            "symbols in the set": f"the likeliest, together at least {1.0 - self.delta:g}",
            "distance": in_words(self.distance),
        }

    def how_to_read(self) -> list[str]:
        return [
            "a release is one of the symbols that were likely before it, given the model and all "
            "earlier releases; a true symbol outside that set was released as its nearest member. "
            "Nothing tells whether that was the case.",
            "confidence is the probability that the released symbol is the true one, given all "
            "releases of the stream, if the model is right; 1 minus its mean is the expected "
            "share of wrong releases.",
            "released shares are biased towards likely symbols; fugu.read(...).shares() undoes "
            "that. A program of your own averages the posteriors instead "
            "(PlanarIsotropicResponse.observe over the releases of each key, in order).",
        ]
