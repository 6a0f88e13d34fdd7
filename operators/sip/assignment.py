"""A proposal that sends each symbol to a few representatives."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip.integer_shares import FewShares, added
from fugu.operators.sip.proposal import Mask, SharedProposal


@dataclass(frozen=True, eq=False)
class Assignment(SharedProposal):
    """Send x to `targets[slot, x]` with probability `weights[slot, x]`.

    Memory is O(n) per stream. `targets` and `weights` are `(slots, n, rows)`, everything else is
    `(n, rows)`. Sums run in symbol order within a slot, slot after slot, so a row alone and in a
    batch has the same bits.

    No two slots of a symbol that have weight have the same target; `Assignment.merged` sees to it.
    """

    targets: Integers
    weights: Floats

    @classmethod
    def to(cls, targets: Integers) -> "Assignment":
        """Send every symbol to its one target, `(n, rows)`."""
        return cls(targets[None], np.ones((1, *targets.shape)))

    @classmethod
    def merged(cls, targets: Integers, weights: Floats) -> "Assignment":
        """Add up the weights of one symbol for one and the same target, in its first slot.

        Where that leaves a symbol a single target, its weight is exactly 1.
        """
        weights = weights.copy()
        for later in range(1, len(targets)):
            for slot in range(later):
                same = targets[slot] == targets[later]
                weights[slot] += np.where(same, weights[later], 0.0)
                weights[later][same] = 0.0
        alone = (weights > 0.0).sum(axis=0) == 1
        return cls(targets, np.where(alone & (weights > 0.0), 1.0, weights))

    @cached_property
    def support(self) -> Mask:
        return self._senders > 0

    def marginal(self, belief: Floats) -> Floats:
        spread = np.zeros_like(belief)
        for targets, weights in zip(self.targets, self.weights, strict=True):
            spread = spread + added(targets, belief * weights)
        constant = self.support & (self.support.sum(axis=0) == 1)
        return np.where(constant, 1.0, spread)

    def largest(self) -> Floats:
        if self._is_certain:
            return np.where(self.support, 1.0, 0.0)
        return self._extreme(np.maximum, np.zeros(self.targets.shape[1:]))

    def smallest(self) -> Floats:
        """Return min over all x of pi(y|x), which is 0 unless all symbols may go to y."""
        everybody = self._senders == len(self._senders)
        if self._is_certain:
            return np.where(everybody, 1.0, 0.0)
        least = self._extreme(np.minimum, np.ones(self.targets.shape[1:]))
        return np.where(everybody, least, 0.0)

    def row(self, symbols: Integers) -> Floats:
        columns = np.arange(len(symbols))
        row = np.zeros(self.targets.shape[1:])
        for targets, weights in zip(self.targets, self.weights, strict=True):
            row[targets[symbols, columns], columns] += weights[symbols, columns]
        return row

    def column(self, symbols: Integers) -> Floats:
        column = np.zeros(self.targets.shape[1:])
        for targets, weights in zip(self.targets, self.weights, strict=True):
            column = column + np.where(targets == symbols, weights, 0.0)
        return column

    @property
    def most_targets(self) -> int:
        return len(self.targets)

    def shares(self, total: Words) -> FewShares:
        return FewShares.of(self.targets, self.weights, total)

    @cached_property
    def _is_certain(self) -> bool:
        """Return whether every symbol has one target, as with `Assignment.to`."""
        return len(self.weights) == 1 and bool((self.weights == 1.0).all())

    @cached_property
    def _senders(self) -> Integers:
        """Return how many symbols may go to each."""
        count = np.zeros(self.targets.shape[1:])
        for targets, weights in zip(self.targets, self.weights, strict=True):
            count = count + added(targets, np.where(weights > 0.0, 1.0, 0.0))
        return count.astype(np.int64)

    def _extreme(self, extreme: Any, start: Floats) -> Floats:
        """Return the largest or smallest weight that arrives anywhere."""
        columns = np.broadcast_to(np.arange(start.shape[1]), start.shape)
        for targets, weights in zip(self.targets, self.weights, strict=True):
            sent = weights > 0.0
            extreme.at(start, (targets[sent], columns[sent]), weights[sent])
        return start
