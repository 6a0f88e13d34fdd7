"""Operators relative to a declared Markov model: record by record, or in batches."""

from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from fugu.dataflows.base.durations import between
from fugu.dataflows.base.section import Epsilon, Section
from fugu.dataflows.kinds.alphabets import AlphabetOperator, SymbolOperator
from fugu.dataflows.kinds.distances import Placed, PlacedSymbols, fitting, in_words
from fugu.operators.sip.batches.batched_release import LARGEST_WINDOW
from fugu.operators.sip.gaps import LONGEST_GAP, Gaps
from fugu.operators.sip.kernels import Mode, Search
from fugu.operators.sip.linear_program_kernel import LARGEST_ALPHABET
from fugu.operators.temporal.temporal_perturbation import End


class ModelStep(Section):
    """Steps of the model take `length` in event time; a gap counts as at most `longest_gap`."""

    length: Annotated[timedelta, BeforeValidator(between("1ms", "30d"))]
    longest_gap: int = Field(ge=1, le=LONGEST_GAP)

    @field_validator("length")
    @classmethod
    def _check_length(cls, length: timedelta) -> timedelta:
        if length % timedelta(milliseconds=1):
            raise ValueError("must be a whole number of milliseconds")
        return length

    @property
    def gaps(self) -> Gaps:
        """The same for the mechanism."""
        return Gaps(self.length // timedelta(milliseconds=1), self.longest_gap)


class MarkovOperator(SymbolOperator):
    """One symbol out, relative to a Markov model."""

    kind: Literal["crr", "paper_crr"]
    model: str
    mode: Mode = "optimal"
    distance: Placed = "hamming"
    kernel: Search = "heuristic"
    step: ModelStep | None = None
    accept_unsound: bool = False

    @field_validator("distance")
    @classmethod
    def _check_points(
        cls, distance: str | PlacedSymbols, before: ValidationInfo
    ) -> str | PlacedSymbols:
        return fitting(distance, before)

    @field_validator("mode", "distance", "kernel")
    @classmethod
    def _check_choice(cls, choice: object, before: ValidationInfo) -> object:
        if before.data.get("kind") == "paper_crr":
            raise ValueError("paper_crr has no such choice; delete it, or write kind: crr")
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

    @field_validator("step")
    @classmethod
    def _check_step(cls, step: ModelStep | None, before: ValidationInfo) -> ModelStep | None:
        if before.data.get("kind") == "paper_crr":
            raise ValueError("paper_crr knows no time; delete it, or write kind: crr")
        return step

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.kind == "paper_crr" and not self.accept_unsound:
            raise ValueError(
                "paper_crr breaks its own privacy claim and is a baseline for comparison; "
                "write kind: crr, or accept_unsound: true if you know why you want it"
            )
        return self

    def parameters(self) -> dict[str, object]:
        """What people want to see of it."""
        return {
            **super().parameters(),
            "model": self.model,
            "model in time": "one step per record" if self.step is None else str(self.step.gaps),
            "mode": self.mode,
            "distance": in_words(self.distance),
            "kernel": self.kernel,
        }

    def how_to_read(self) -> list[str]:
        """What an analyst must know of the output."""
        in_time = "" if self.step is None else ", and elapse before each"
        return [
            "confidence is the probability that the released symbol is the true one, given all "
            "releases of the stream; 1 minus its mean is the expected share of wrong releases.",
            "released shares are biased towards likely symbols; average the posteriors instead "
            "(ConditionalRandomizedResponse.observe over the releases of each key, in order"
            f"{in_time}).",
        ]


class BatchedMarkovOperator(AlphabetOperator):
    """Symbols in, `window` of them out at once; epsilon in nats for the whole batch."""

    kind: Literal["batched_crr"]
    window: Annotated[int, Field(ge=1, le=LARGEST_WINDOW)]
    epsilon_per_batch: Annotated[Epsilon, Field(le=50)]
    model: str
    distance: Placed = "hamming"
    kernel: Search = "linear_program"

    @field_validator("distance")
    @classmethod
    def _check_points(
        cls, distance: str | PlacedSymbols, before: ValidationInfo
    ) -> str | PlacedSymbols:
        return fitting(distance, before)

    @property
    def epsilon(self) -> float:
        """Nats per release, and a release is a batch."""
        return self.epsilon_per_batch

    @property
    def end(self) -> End:
        """A batch that is not full is released when streams are finished."""
        return "drain"

    def parameters(self) -> dict[str, object]:
        """What people want to see of it."""
        each = self.epsilon_per_batch / self.window
        return {
            "epsilon": f"{self.epsilon_per_batch:g} nats per batch, {each:g} nats per record",
            "window": f"{self.window} records are held back and released together",
            **super().parameters(),
            "model": self.model,
            "distance": in_words(self.distance),
            "kernel": self.kernel,
        }

    def how_to_read(self) -> list[str]:
        """What an analyst must know of the output."""
        return [
            f"a release is a list: the symbols of {self.window} records of one key, oldest first. "
            "It has the key and the time of the last of them; records before it have no output.",
            "records of a stream that ends within a batch are held back until fugu run --finish, "
            "which releases them as a shorter list with its share of epsilon, at the latest time "
            "of the partition.",
            "confidence is the expected share of true symbols in the list, given all releases of "
            "the stream; 1 minus its mean is the expected share of wrong ones.",
            "a repeated list is the last one again and says nothing new, and while a budget is "
            "exhausted there is one for every record.",
            "released shares are biased towards likely symbols; average the posteriors instead "
            "(BatchedRelease.observe over the releases of each key, in order).",
        ]
