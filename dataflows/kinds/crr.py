from datetime import timedelta
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from fugu.dataflows.base.durations import AS_JSON, MILLISECOND, whole_milliseconds
from fugu.dataflows.base.section import Section
from fugu.dataflows.kinds.families.distances import Placed, distance_between, in_words
from fugu.dataflows.kinds.families.models import ModelOperator
from fugu.dataflows.kinds.families.section import Files
from fugu.dataflows.kinds.families.symbols import SymbolOperator
from fugu.operators.mechanism import Mechanism
from fugu.operators.sip.chain import Chain
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import Distance
from fugu.operators.sip.gaps import LONGEST_GAP, Gaps
from fugu.operators.sip.kernels import Mode, Search
from fugu.operators.sip.linear_program_kernel import LARGEST_ALPHABET


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


class CrrOperator(ModelOperator, SymbolOperator):
    """Release one symbol, drawn from what the model and all releases so far make likely."""

    order = 100
    mechanism_class: ClassVar[type[ConditionalRandomizedResponse]] = ConditionalRandomizedResponse

    kind: Literal["crr"]
    mode: Mode = "optimal"
    """Say how releases are proposed: for accuracy, or any symbol with `full_support`."""
    distance: Placed = "hamming"
    """Say how far apart two symbols are: accuracy is measured by it."""
    kernel: Search = "heuristic"
    """Say how the law of a release is searched."""
    step: ModelStep | None = None
    """Say how long a step of the model is; without it, each record is one."""
    accept_unsound: bool = False
    """Say whether a claim that is known not to hold is accepted, to reproduce a paper."""

    @field_validator("mode", "distance", "kernel")
    @classmethod
    def _check_choice(cls, choice: object, before: ValidationInfo) -> object:
        usual = choice in ("optimal", "full_support", "hamming", "heuristic")
        if before.data.get("mode") == "full_support" and not usual:
            raise ValueError(
                "has no effect with mode: full_support, which always proposes the true symbol; "
                "delete one of the two"
            )
        symbols = len(before.data.get("alphabet", []))
        if choice == "linear_program" and symbols > LARGEST_ALPHABET:
            raise ValueError(
                f"linear_program takes at most {LARGEST_ALPHABET} symbols, and the alphabet has "
                f"{symbols}; write heuristic"
            )
        return choice

    def mechanism(self, files: Files) -> Mechanism:
        return self.mechanism_class(*self.choices(files))

    def choices(self, files: Files) -> tuple[Chain, float, Distance, Mode, Search, Gaps | None]:
        """Return what configures the mechanism, in its order."""
        model, gaps = self.chain(files), None if self.step is None else self.step.gaps
        distance = distance_between(self.alphabet, self.distance, files)
        return model, float(self.epsilon), distance, self.mode, self.kernel, gaps

    def parameters(self) -> dict[str, object]:
        return {
            **super().parameters(),
            "model": self.model,
            "model in time": "one step per record" if self.step is None else str(self.step.gaps),
            "mode": self.mode,
            "distance": in_words(self.distance),
            "kernel": self.kernel,
        }

    def how_to_read(self) -> list[str]:
        in_time = "" if self.step is None else ", and elapse before each"
        return [
            "confidence is the probability that the released symbol is the true one, given all "
            "releases of the stream; 1 minus its mean is the expected share of wrong releases.",
            "released shares are biased towards likely symbols; fugu.read(...).shares() undoes "
            "that. A program of your own averages the posteriors instead "
            "(ConditionalRandomizedResponse.observe over the releases of each key, in order"
            f"{in_time}).",
        ]
