from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field

from fugu.dataflows.base.section import Epsilon
from fugu.dataflows.kinds.families.distances import Placed, distance_between, in_words
from fugu.dataflows.kinds.families.model_steps import InTimeOperator
from fugu.dataflows.kinds.families.section import Files
from fugu.dataflows.records.symbols import SymbolBatches
from fugu.dataflows.records.values import Values
from fugu.operators.mechanism import Mechanism
from fugu.operators.sip.batches.batched_release import LARGEST_WINDOW, BatchedRelease
from fugu.operators.sip.kernels import Search
from fugu.operators.temporal.temporal_perturbation import End

RIVAL_WINDOW = 2
"""Count the records of a list where another kind is compared with lists."""


class BatchedCrrOperator(InTimeOperator):
    """Hold `window` symbols back, and release them together as one list."""

    order = 102
    mechanism_class = BatchedRelease
    example = (
        "alphabet: [rest, light, moderate, vigorous]\nwindow: 2\nepsilon_per_batch: 2.0\n"
        "model: heart-zones.model.json\nkernel: heuristic\n"
    )
    protected = "a user's sequence of symbols, per list: under the model, and without any model"

    kind: Literal["batched_crr"]
    window: Annotated[int, Field(ge=1, le=LARGEST_WINDOW)]
    """Say how many records are held back and released together."""
    epsilon_per_batch: Annotated[Epsilon, Field(le=50)]
    """The nats that a list costs."""
    distance: Placed = "hamming"
    """Say how far apart two symbols are: accuracy is measured by it."""
    kernel: Search = "linear_program"
    """Say how the law of a release is searched."""

    def mechanism(self, files: Files) -> Mechanism:
        model = self.written_out(files)
        distance = distance_between(self.alphabet, self.distance, files)
        epsilon = float(self.epsilon_per_batch)
        return BatchedRelease(model, self.window, epsilon, distance, self.kernel, self.gaps)

    def values(self, fields: Sequence[str]) -> Values:
        return SymbolBatches(fields[0], self.alphabet, other=self.other)

    @property
    def nats_per_release(self) -> float:
        return self.epsilon_per_batch

    @property
    def records_per_release(self) -> int:
        return self.window

    @classmethod
    def spending(cls, nats: float, own: Self | None = None) -> dict[str, object]:
        if own is not None:
            return {"epsilon_per_batch": own.window * nats}
        window = RIVAL_WINDOW
        return {"window": window, "epsilon_per_batch": window * nats, "kernel": "heuristic"}

    @property
    def finishing(self) -> End:
        return "drain"

    def parameters(self) -> dict[str, object]:
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
            self._about_shares,
        ]

    @property
    def _about_shares(self) -> str:
        if self.step is not None:
            return (
                "released shares are biased towards likely symbols, and nobody can undo that from "
                "the topic alone, in which the records before the last of a list have no time."
            )
        return (
            "released shares are biased towards likely symbols; fugu.read(...).shares() undoes "
            "that as far as the model is right. A program of your own averages the posteriors "
            "instead "
            "(BatchedRelease.observe over the releases of each key, in order)."
        )
