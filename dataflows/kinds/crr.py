from typing import Literal

from pydantic import ValidationInfo, field_validator

from fugu.dataflows.kinds.families.conditional import ConditionalInTimeOperator
from fugu.dataflows.kinds.families.distances import Placed, distance_between, in_words
from fugu.dataflows.kinds.families.section import Files
from fugu.operators.mechanism import Mechanism
from fugu.operators.sip.distances import Distance
from fugu.operators.sip.inputs import Gaps
from fugu.operators.sip.kernels import Mode, Search
from fugu.operators.sip.linear_program_kernel import LARGEST_ALPHABET
from fugu.operators.sip.markov_model import Chain


class CrrOperator(ConditionalInTimeOperator):
    """Release one symbol, drawn from what the model and all releases so far make likely."""

    order = 100

    kind: Literal["crr"]
    mode: Mode = "optimal"
    """Say how releases are proposed: for accuracy, or any symbol with `full_support`."""
    distance: Placed = "hamming"
    """Say how far apart two symbols are: accuracy is measured by it."""
    kernel: Search = "heuristic"
    """Say how the law of a release is searched."""

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
        model, distance = self.chain(files), distance_between(self.alphabet, self.distance, files)
        return model, float(self.epsilon), distance, self.mode, self.kernel, self.gaps

    def parameters(self) -> dict[str, object]:
        return {
            **super().parameters(),
            "mode": self.mode,
            "distance": in_words(self.distance),
            "kernel": self.kernel,
        }
