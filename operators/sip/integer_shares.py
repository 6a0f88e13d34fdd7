"""Proposals as integers: each x shares out G words of 64 bits among its representatives.

    V(y|x) >= 0,  sum over y of V(y|x) = G for every x

An entry pi(y|x) becomes floor(pi(y|x) G (1 - 2^-50)) words, and the largest entry of a row takes
what is left of G. So row sums are exact, and what was rounded is a proposal like any other: no
claim rests on V being near G pi (`shares_law` makes any V private).

Where x has few representatives, `FewShares` holds `(slots, n, rows)`: targets and words. Where a
proposal is a matrix, `MatrixShares` holds `(n, n, rows)`: x first, then y. `total (rows,)` is G.

Source: symbol sampling specification, section 3 ("Any other proposal") and section 5.

>>> matrix = np.array([[0.25, 0.75], [1.0, 0.0]])[:, :, None]
>>> MatrixShares.of(matrix, np.array([2**62], dtype=np.uint64)).matrix[:, :, 0].tolist()
[[1152921504606845952, 3458764513820541952], [4611686018427387904, 0]]
"""

from typing import Protocol

import numpy as np

from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip.privacy_bound import PART_DOWN
from fugu.operators.sip.written_kernels import FewTargets, FullMatrix, WrittenKernel


class Shares(WrittenKernel, Protocol):
    """Share out words V(y|x); everything is `(n, rows)` unless said."""

    def expected(self, belief: Floats) -> Floats:
        """Return v(y) = sum over x of belief(x) V(y|x), added in the order of x."""

    def drawn(self, symbols: Integers, words: Words) -> Integers:
        """Return the y that a word below G falls to, for the one x of each column."""


class FewShares(FewTargets, Shares):
    """Give `weights[slot, x]` words to `targets[slot, x]`."""

    @classmethod
    def of(cls, targets: Integers, weights: Floats, total: Words) -> "FewShares":
        """Share out by the weights of each x, `(slots, n, rows)`, whose sums are about 1."""
        if len(weights) == 1:
            return cls(targets, np.broadcast_to(total, weights.shape))
        return cls(targets, shared_out(weights, total))

    def drawn(self, symbols: Integers, words: Words) -> Integers:
        columns = np.arange(len(symbols))
        slot = _reached(self.weights[:, symbols, columns], words)
        return np.asarray(self.targets[slot, symbols, columns])


class MatrixShares(FullMatrix, Shares):
    """Give `matrix[x, y]` words of x to y."""

    @classmethod
    def of(cls, matrix: Floats, total: Words) -> "MatrixShares":
        """Share out by pi(y|x) as `(n, n, rows)`, x first."""
        by_target = np.ascontiguousarray(matrix.transpose(1, 0, 2))
        return cls(np.ascontiguousarray(shared_out(by_target, total).transpose(1, 0, 2)))

    def drawn(self, symbols: Integers, words: Words) -> Integers:
        return _reached(self.row(symbols), words)


def shared_out(weights: Floats, total: Words) -> Words:
    """Share out all of `total` words among places, by weights `(places, n, rows)`.

    The place of the largest weight, the first of equals, takes what the others leave.
    """
    top = np.argmax(weights, axis=0)
    left = np.broadcast_to(total, weights.shape[1:]).copy()
    words = np.empty(weights.shape, dtype=np.uint64)
    for place, weight in enumerate(weights):
        share = np.floor(weight * total * PART_DOWN).astype(np.uint64)
        share = np.where(top == place, np.uint64(0), np.minimum(share, left))
        words[place] = share
        left -= share
    np.put_along_axis(words, top[None], left[None], axis=0)
    return words


def _reached(shares: Words, words: Words) -> Integers:
    """Return the place that the word of each column falls to."""
    sums = np.cumsum(shares, axis=0, dtype=np.uint64)
    return np.asarray(np.minimum((sums <= words).sum(axis=0), len(sums) - 1))
