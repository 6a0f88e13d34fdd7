from typing import Annotated, Literal

from pydantic import Field

from fugu.dataflows.kinds.families.distances import Placed, distance_between, in_words
from fugu.dataflows.kinds.families.section import Files
from fugu.dataflows.kinds.families.symbols import SymbolOperator
from fugu.operators.mechanism import Mechanism
from fugu.operators.sip.cold_start import ColdStart


class ColdStartCrrOperator(SymbolOperator):
    """Release as `grr`, and as `crr` once a stream has learned a model from its releases."""

    order = 104
    mechanism_class = ColdStart
    protected = "a user's sequence of symbols, with that model and without one, per release"
    example = SymbolOperator.example + "when_short: accept\n"

    kind: Literal["cold_start_crr"]
    positions: Annotated[int, Field(ge=1)] | None = None
    """Say how many releases a stream learns its model from; by default as many as are enough."""
    alpha: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """The count that all pairs of symbols share before any is seen."""
    when_short: Literal["refuse", "accept"] = "refuse"
    """Say whether `positions` that are too few to learn from are refused."""

    distance: Placed = "hamming"
    """Say how far apart two symbols are: accuracy is measured by it once there is a model."""

    def mechanism(self, files: Files) -> Mechanism:
        return ColdStart(
            len(self.alphabet),
            float(self.epsilon),
            self.positions or 0,
            float(self.alpha),
            self.when_short,
            distance_between(self.alphabet, self.distance, files),
        )

    def parameters(self) -> dict[str, object]:
        first = "as many as are enough" if self.positions is None else f"{self.positions:,}"
        return {
            **super().parameters(),
            "records before a model is learned": first,
            "model": "each stream's own, learned once from its first releases and then frozen",
            "distance": in_words(self.distance),
        }

    def how_to_read(self) -> list[str]:
        return [
            "confidence is null until a stream has learned its model; until then count releases as "
            "those of randomized response, and undo the bias.",
            "afterwards confidence is the probability that the released symbol is the true one "
            "under that model, which is learned from noise: it is right as far as the model is.",
            "how many records a stream has behind it tells which of the two applies; when the "
            "switch comes depends on nothing but that number.",
        ]
