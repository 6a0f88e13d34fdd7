from typing import Literal

from fugu.dataflows.kinds.families.responses import ResponseOperator
from fugu.dataflows.kinds.families.section import Files
from fugu.operators.mechanism import Mechanism
from fugu.operators.responses.optimized_unary_encoding import OptimizedUnaryEncoding


class OueOperator(ResponseOperator):
    """Release a set of symbols, for counting over large alphabets (optimized unary encoding)."""

    order = 106
    mechanism_class = OptimizedUnaryEncoding

    kind: Literal["oue"]
    output: Literal["bits", "symbol"] | None = None
    """Say whether a set is released (`bits`), or one `symbol` of it."""

    @property
    def releases_sets(self) -> bool:
        return self.output != "symbol"

    def mechanism(self, files: Files) -> Mechanism:
        return OptimizedUnaryEncoding(
            len(self.alphabet), float(self.epsilon), self.output or "bits"
        )
