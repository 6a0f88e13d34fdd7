"""Two ways to write down a kernel: few targets for each x, or a matrix of all x and y.

Entries are probabilities (`Assignment`, `ExplicitKernel`) or whole words (`integer_shares`).
Everything else is `(n, rows)`. Sums run in symbol order within a slot, slot after slot, so a row
alone and in a batch has the same bits.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from fugu.operators.mechanism import Array, Floats, Integers
from fugu.operators.sip.markov_model import ordered_sum


class WrittenKernel(Protocol):
    """Answer for the entries of a kernel, `(n, rows)`."""

    def largest(self) -> Array:
        """Return the largest entry of each y over all x, or more."""

    def smallest(self) -> Array:
        """Return the smallest entry of each y over all x, or less."""

    def row(self, symbols: Integers) -> Array:
        """Return the entries over y, for the one x of each column."""

    def column(self, released: Integers) -> Array:
        """Return the entries over x, for the one y of each column."""


@dataclass(frozen=True, eq=False)
class FewTargets(WrittenKernel):
    """Send x to `targets[slot, x]` by `weights[slot, x]`, both `(slots, n, rows)`.

    Memory is O(n) per stream. No two slots of a symbol that have weight have the same target.
    """

    targets: Integers
    weights: Array

    def expected(self, belief: Floats) -> Floats:
        """Return the sum over x of belief(x) and the entry of y."""
        total = np.zeros(belief.shape)
        for targets, weights in zip(self.targets, self.weights, strict=True):
            total = total + _added(targets, belief * weights)
        return total

    def largest(self) -> Array:
        return self._extreme(np.maximum, 0)

    def smallest(self) -> Array:
        """Return 0 unless all symbols may go to y."""
        least = self._extreme(np.minimum, self.weights.max(initial=0))
        everybody = self._senders == len(self._senders)
        return np.where(everybody, least, np.zeros_like(least))

    def row(self, symbols: Integers) -> Array:
        columns, row = np.arange(len(symbols)), self._filled(0)
        for targets, weights in zip(self.targets, self.weights, strict=True):
            row[targets[symbols, columns], columns] += weights[symbols, columns]
        return row

    def column(self, released: Integers) -> Array:
        column = self._filled(0)
        for targets, weights in zip(self.targets, self.weights, strict=True):
            column += np.where(targets == released, weights, np.zeros_like(weights))
        return column

    @cached_property
    def _senders(self) -> Floats:
        """Return how many symbols may go to each."""
        count = np.zeros(self.targets.shape[1:])
        for targets, weights in zip(self.targets, self.weights, strict=True):
            count = count + _added(targets, (weights > 0).astype(np.float64))
        return count

    def _extreme(self, extreme: Any, start: float) -> Array:
        """Return the largest or smallest weight that arrives anywhere."""
        found = self._filled(start)
        columns = np.broadcast_to(np.arange(found.shape[1]), found.shape)
        for targets, weights in zip(self.targets, self.weights, strict=True):
            sent = weights > 0
            extreme.at(found, (targets[sent], columns[sent]), weights[sent])
        return found

    def _filled(self, entry: float) -> Array:
        return np.full(self.targets.shape[1:], entry, dtype=self.weights.dtype)


@dataclass(frozen=True, eq=False)
class FullMatrix(WrittenKernel):
    """Send x to y by `matrix[x, y]`, `(n, n, rows)`."""

    matrix: Array

    def expected(self, belief: Floats) -> Floats:
        """Return the sum over x of belief(x) and the entry of y."""
        return ordered_sum(belief[:, None] * self.matrix)

    def largest(self) -> Array:
        return np.asarray(self.matrix.max(axis=0))

    def smallest(self) -> Array:
        return np.asarray(self.matrix.min(axis=0))

    def row(self, symbols: Integers) -> Array:
        return np.ascontiguousarray(self.matrix[symbols, :, np.arange(len(symbols))].T)

    def column(self, released: Integers) -> Array:
        return np.ascontiguousarray(self.matrix[:, released, np.arange(len(released))])


def _added(targets: Integers, values: Floats) -> Floats:
    """Add each value to its target, in symbol order: both `(n, rows)`."""
    symbols, rows = targets.shape
    place: Array = (targets * rows + np.arange(rows)).ravel()
    total = np.bincount(place, weights=values.ravel(), minlength=symbols * rows)
    return np.asarray(total, dtype=np.float64).reshape(symbols, rows)
