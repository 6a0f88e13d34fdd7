from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from fugu.dataflows.kinds.families.responses import ResponseOperator
from fugu.dataflows.kinds.families.section import Files
from fugu.dataflows.records.symbols import HadamardHalves
from fugu.dataflows.records.values import Values
from fugu.operators.mechanism import Mechanism
from fugu.operators.responses.hadamard_response import HadamardResponse


class LrmOperator(ResponseOperator):
    """Release one sign of a public matrix, for counting over large alphabets in few bytes."""

    order = 107
    mechanism_class = HadamardResponse
    instead: ClassVar[Mapping[str, str]] = {
        "output": "output is for kind: oue only; lrm releases a row and a sign. Delete it"
    }

    kind: Literal["lrm"]

    def mechanism(self, files: Files) -> Mechanism:
        return HadamardResponse(len(self.alphabet), float(self.epsilon))

    def values(self, fields: Sequence[str]) -> Values:
        return HadamardHalves(fields[0], self.alphabet, other=self.other)

    def parameters(self) -> dict[str, object]:
        released = "a row of the Hadamard matrix, and a sign"
        return {**super().parameters(), "release": released}

    def how_to_read(self) -> list[str]:
        return [
            "a release [row, sign] names one half of the symbols: those numbers v, from 0, for "
            "which row and v have an even number of ones in common in binary if the sign is 1, "
            "and an odd one if it is -1. The true symbol is in it with the first probability "
            "above, any given other one with 1/2.",
            *super().how_to_read()[1:],
        ]
