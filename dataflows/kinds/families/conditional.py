"""Share what releases by conditional randomized response have in common."""

from datetime import timedelta
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from fugu.dataflows.base.durations import AS_JSON, MILLISECOND, whole_milliseconds
from fugu.dataflows.base.section import Section
from fugu.dataflows.kinds.families.models import ModelOperator
from fugu.dataflows.kinds.families.section import Files
from fugu.dataflows.kinds.families.symbols import SymbolOperator
from fugu.operators.mechanism import Mechanism
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.gaps import LONGEST_GAP, Gaps


class ModelStep(Section):
    """Let steps of the model take `length` in event time, a gap `longest_gap` of them at most."""

    length: Annotated[timedelta, BeforeValidator(whole_milliseconds("1ms", "30d")), AS_JSON]
    """The event time that one step of the model takes."""
    longest_gap: int = Field(ge=1, le=LONGEST_GAP)
    """The most steps that a gap counts as."""

    @property
    def gaps(self) -> Gaps:
        """Return the same for the mechanism."""
        return Gaps(self.length // MILLISECOND, self.longest_gap)


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


class ConditionalInTimeOperator(ConditionalOperator):
    """Let steps of the model be records, or take event time."""

    step: ModelStep | None = None
    """Say how long a step of the model is; without it, each record is one."""

    @property
    def gaps(self) -> Gaps | None:
        """Return how beliefs age between records, if they do."""
        return None if self.step is None else self.step.gaps

    def mechanism(self, files: Files) -> Mechanism:
        return self.mechanism_class(self.chain(files), float(self.epsilon), gaps=self.gaps)

    def parameters(self) -> dict[str, object]:
        in_time = "one step per record" if self.gaps is None else str(self.gaps)
        return {**super().parameters(), "model in time": in_time}

    @property
    def _between_releases(self) -> str:
        return "" if self.step is None else ", and elapse before each"
