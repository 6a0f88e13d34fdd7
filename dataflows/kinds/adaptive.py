"""Operators that change with what they released: publish or repeat, and a model of one's own."""

from typing import Annotated, Literal

from pydantic import Field

from fugu.dataflows.base.section import Epsilon
from fugu.dataflows.kinds.alphabets import SymbolOperator


class AdaptiveOperator(SymbolOperator):
    """Publish anew or repeat, relative to a Markov model; `epsilon` is that of a fresh symbol."""

    kind: Literal["adaptive_crr"]
    model: str
    decision_epsilon: Annotated[Epsilon, Field(le=50)]
    distance: Literal["symbol", "steps"] = "symbol"

    def parameters(self) -> dict[str, object]:
        """What people want to see of it."""
        good_enough = {
            "symbol": "if it is still the true symbol",
            "steps": "if it is no further from the true symbol than a fresh one is expected to be",
        }[self.distance]
        return {
            **super().parameters(),
            "epsilon": f"{self.epsilon:g} nats per fresh release",
            "decision": f"{self.decision_epsilon:g} nats per record, fresh or repeated",
            "the last release is repeated": f"{good_enough}, up to noise",
            "model": self.model,
        }

    def how_to_read(self) -> list[str]:
        """What an analyst must know of the output."""
        return [
            'a release marked "repeated" says that the last one is, up to noise, still good enough:'
            " that is information, and it is counted in the promise. Do not leave it out.",
            "confidence is the probability that the published symbol is the true one, given "
            "everything published; 1 minus its mean is the expected share of wrong symbols.",
            "published shares are biased towards likely symbols and towards what was there before; "
            "average the posteriors instead (AdaptiveRelease.observe, over all records in order).",
        ]


class ColdStartOperator(SymbolOperator):
    """No model is declared: every stream learns one from its own first releases."""

    kind: Literal["cold_start_crr"]
    positions: Annotated[int, Field(ge=1)] | None = None
    alpha: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    when_short: Literal["refuse", "accept"] = "refuse"

    def parameters(self) -> dict[str, object]:
        """What people want to see of it."""
        first = "as many as are enough" if self.positions is None else f"{self.positions:,}"
        return {
            **super().parameters(),
            "records before a model is learned": first,
            "model": "each stream's own, learned once from its first releases and then frozen",
        }

    def how_to_read(self) -> list[str]:
        """What an analyst must know of the output."""
        return [
            "confidence is null until a stream has learned its model; until then count releases as "
            "those of randomized response, and undo the bias.",
            "afterwards confidence is the probability that the released symbol is the true one "
            "under that model, which is learned from noise: it is right as far as the model is.",
            "how many records a stream has behind it tells which of the two applies; when the "
            "switch comes depends on nothing but that number.",
        ]
