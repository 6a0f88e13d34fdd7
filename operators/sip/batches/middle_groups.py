"""Batches of one among very many symbols, known by where they are at their middle."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.batches.cluster_sequences import (
    ClusterLaw,
    ClusterSequences,
    central,
    clusters,
)
from fugu.operators.sip.batches.model_error import doubts_of
from fugu.operators.sip.batches.walk import Moves
from fugu.operators.sip.explicit_kernel import ExplicitKernel
from fugu.operators.sip.markov_model import normalised, ordered_sum

MOST_COMPARED = 2_000
"""The most symbols that the other algorithms compare all with each other."""
_SHARES, _STEPS = 2.0**30, 2.0**20
"""The steps in which probabilities and distances are counted: their products add up below 2^63."""


@dataclass(frozen=True, eq=False)
class MiddleGroups(ClusterSequences):
    """Release batches by the group of their middle symbol alone.

    All 36 sequences of groups are spent on one position, so a batch is placed as finely as one
    symbol can be, with the epsilon of all of its symbols. For each group c the whole path of
    central symbols is released, of P(X_i = x, c) at each position i. That suits chains that move
    little within a batch. The law is that of `ClusterSequences` with 1, ..., 36, ..., 1 groups, and
    as private; utility alone differs.

    Nothing is as large as the square of the symbols.

    Source: SIP specification, section 8, algorithm 3, with K_i = 1 but for the middle.
    """

    @cached_property
    def counts(self) -> tuple[int, ...]:
        counts = [1] * self.window
        counts[self._middle] = min(self.most, self.walk.symbols)
        return tuple(counts)

    @property
    def places(self) -> Integers:
        """Return which of the symbols shown at each position a group has: one of its own."""
        return np.tile(np.arange(self.outcomes), (self.window, 1))

    @property
    def name(self) -> str:
        return "middle_groups"

    def law(self, belief: Floats, distances: Floats, steps: Integers | None = None) -> ClusterLaw:
        """Make the law of each column by itself: beliefs over so many symbols do not come again."""
        moves, rows = self.walk.of(steps), belief.shape[1]
        grouped = np.zeros((self.window, self.walk.symbols, rows), dtype=np.int64)
        here = belief
        for position in range(self._middle):
            here = moves.predicted(here, position)
        likely = self.walk.model.marginal(here)
        for row in range(rows):
            grouped[self._middle, :, row] = clusters(likely[:, row], self.outcomes, self.distance)
        joint = self._joint(belief, grouped, moves)
        shown = np.stack([self._shown(position, joint, grouped) for position in range(self.window)])
        prior = normalised(ordered_sum(joint[-1]))
        apart = self.weighted(joint, shown) / prior[:, None]
        proposals = [self.proposed(prior[:, row], apart[:, :, row]) for row in range(rows)]
        proposal = ExplicitKernel.stacked(proposals, self.outcomes)
        doubts = doubts_of(distances + self.walk.forward_distance(self.window), self.outcomes)
        return ClusterLaw(self, grouped, shown, joint, proposal, doubts)

    def weighted(self, joint: Floats, shown: Integers) -> Floats:
        """Return it from the first, the middle and the last position, in whole numbers: exact, and
        the same on every machine."""
        total = np.zeros((self.outcomes, self.outcomes, joint.shape[3]))
        looked_at = sorted({0, self._middle, self.window - 1})
        for position, row in product(looked_at, range(joint.shape[3])):
            far = self.distance.from_each(shown[position, :, row], self.walk.symbols)
            farthest = max(float(far.max()), 1e-100)
            steps = np.rint(far * (_STEPS / farthest)).astype(np.int64)[self.walk.symbol_of_state]
            shares = np.rint(joint[position, :, :, row] * _SHARES).astype(np.int64)
            unit = farthest / (_STEPS * _SHARES) * self.window / len(looked_at)
            total[:, :, row] += (shares.T @ steps) * unit
        return total

    def _shown(self, position: int, joint: Floats, grouped: Integers) -> Integers:
        """Return the central symbol of each group at a position, `(groups, rows)`; at the middle it
        is one of the group."""
        states, groups, rows = joint.shape[1:]
        likely = self.walk.model.marginal(joint[position].reshape(states, -1))
        if position != self._middle:
            return central(likely, self.distance).reshape(groups, rows)
        inside = grouped[position][:, None] == np.arange(groups)[None, :, None]
        return central(likely, self.distance, inside.reshape(len(likely), -1)).reshape(groups, rows)

    def _joint(self, belief: Floats, grouped: Integers, moves: Moves) -> Floats:
        """Return P(S_i = s, group at the middle), `(window, states, groups, rows)`."""
        middle = self._middle
        of_states = grouped[middle, self.walk.symbol_of_state]
        inside = of_states[:, None, :] == np.arange(self.outcomes)[None, :, None]
        joint = np.empty((self.window, *inside.shape))
        before = [belief[:, None, :]]
        for position in range(middle):
            before.append(moves.onward(before[-1], position))
        joint[middle] = np.where(inside, before[middle], 0.0)
        for position in range(middle, self.window - 1):
            joint[position + 1] = moves.onward(joint[position], position)
        later = np.where(inside, 1.0, 0.0)
        for position in reversed(range(middle)):
            later = moves.back(later, position)
            joint[position] = before[position] * later
        return joint

    @property
    def _middle(self) -> int:
        return self.window // 2
