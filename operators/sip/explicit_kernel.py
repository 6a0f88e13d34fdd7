"""A proposal written out as a matrix per stream: for kernels that a solver finds, and small n."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip.integer_shares import MatrixShares
from fugu.operators.sip.markov_model import ordered_sum
from fugu.operators.sip.proposal import Mask, SharedProposal


@dataclass(frozen=True, eq=False)
class ExplicitKernel(SharedProposal):
    """Propose pi(y|x) as a matrix `(n, n, rows)`: x first, then y."""

    matrix: Floats

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
        spread = ordered_sum(belief[:, None] * self.matrix)
        support = self.support
        return np.where(support & (support.sum(axis=0) == 1), 1.0, spread)

    def largest(self) -> Floats:
        return np.asarray(self.matrix.max(axis=0))

    def smallest(self) -> Floats:
        return np.asarray(self.matrix.min(axis=0))

    def row(self, symbols: Integers) -> Floats:
        return np.ascontiguousarray(self.matrix[symbols, :, np.arange(len(symbols))].T)

    def column(self, symbols: Integers) -> Floats:
        return np.ascontiguousarray(self.matrix[:, symbols, np.arange(len(symbols))])

    @property
    def most_targets(self) -> int:
        return len(self.matrix)

    def shares(self, total: Words) -> MatrixShares:
        return MatrixShares.of(self.matrix, total)
