"""A proposal that sends each symbol to a few representatives."""

from functools import cached_property

import numpy as np

from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip.integer_shares import FewShares
from fugu.operators.sip.proposal import Mask, SharedProposal
from fugu.operators.sip.written_kernels import FewTargets


class Assignment(FewTargets, SharedProposal):
    """Send x to `targets[slot, x]` with probability `weights[slot, x]`.

    `Assignment.merged` sees to it that slots of a symbol with weight have targets of their own.
    """

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
        return np.asarray(self._senders > 0)

    def marginal(self, belief: Floats) -> Floats:
        alone = self.support & (self.support.sum(axis=0) == 1)
        return np.where(alone, 1.0, self.expected(belief))

    @property
    def most_targets(self) -> int:
        return len(self.targets)

    def shares(self, total: Words) -> FewShares:
        return FewShares.of(self.targets, self.weights, total)
