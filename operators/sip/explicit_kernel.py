"""A proposal written out as a matrix per stream: for kernels that a solver finds, and small n."""

from collections.abc import Sequence

import numpy as np

from fugu.operators.mechanism import Floats, Words
from fugu.operators.sip.integer_shares import MatrixShares
from fugu.operators.sip.proposal import Mask, SharedProposal
from fugu.operators.sip.written_kernels import FullMatrix


class ExplicitKernel(FullMatrix, SharedProposal):
    """Propose pi(y|x) as a matrix `(n, n, rows)`: x first, then y."""

    @classmethod
    def stacked(cls, matrices: Sequence[Floats], symbols: int) -> "ExplicitKernel":
        """Stack one matrix `(x, y)` for each row."""
        stacked = np.zeros((symbols, symbols, len(matrices)))
        for row, matrix in enumerate(matrices):
            stacked[:, :, row] = matrix
        return cls(stacked)

    @property
    def support(self) -> Mask:
        return np.asarray(self.largest() > 0.0)

    def marginal(self, belief: Floats) -> Floats:
        support = self.support
        alone = support & (support.sum(axis=0) == 1)
        return np.where(alone, 1.0, self.expected(belief))

    @property
    def most_targets(self) -> int:
        return len(self.matrix)

    def shares(self, total: Words) -> MatrixShares:
        return MatrixShares.of(self.matrix, total)
