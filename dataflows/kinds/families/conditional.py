"""Share what releases by conditional randomized response have in common."""

from typing import ClassVar

from fugu.dataflows.kinds.families.model_steps import InTimeOperator
from fugu.dataflows.kinds.families.models import ModelOperator
from fugu.dataflows.kinds.families.section import Files
from fugu.dataflows.kinds.families.symbols import SymbolOperator
from fugu.operators.mechanism import Mechanism
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse


class ConditionalOperator(ModelOperator, SymbolOperator):
    """Release one symbol, drawn from what the model and all releases so far make likely."""

    mechanism_class: ClassVar[type[ConditionalRandomizedResponse]] = ConditionalRandomizedResponse

    def mechanism(self, files: Files) -> Mechanism:
        return self.mechanism_class(self.chain(files), float(self.epsilon))

    def parameters(self) -> dict[str, object]:
        return {**super().parameters(), "model": self.model}

    def how_to_read(self) -> list[str]:
        return [
            "confidence is the probability that the released symbol is the true one, given all "
            "releases of the stream; 1 minus its mean is the expected share of wrong releases.",
            "released shares are biased towards likely symbols; fugu.read(...).shares() undoes "
            "that as far as the model is right. A program of your own averages the posteriors "
            "instead "
            "(ConditionalRandomizedResponse.observe over the releases of each key, in order"
            f"{self._between_releases}).",
        ]

    @property
    def _between_releases(self) -> str:
        return ""


class ConditionalInTimeOperator(InTimeOperator, ConditionalOperator):
    """Release one symbol at a time, along a model whose steps are records or take event time."""

    def mechanism(self, files: Files) -> Mechanism:
        return self.mechanism_class(self.chain(files), float(self.epsilon), gaps=self.gaps)

    @property
    def _between_releases(self) -> str:
        return "" if self.step is None else ", and elapse before each"
