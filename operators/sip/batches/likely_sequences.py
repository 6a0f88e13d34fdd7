"""Batches released as one of the likely ones."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.operators import compiled
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.batches.batch_law import Algorithm
from fugu.operators.sip.batches.sequence_law import (
    Search,
    SequenceLaw,
    cheapest_targets,
    distances_between,
)
from fugu.operators.sip.batches.walk import Moves, Walk, doubts_of
from fugu.operators.sip.distances import Distance
from fugu.operators.sip.markov_model import normalised, ordered_sum
from fugu.operators.sip.privacy_bound import PrivacyBound

MOST_BATCHES = 10_000
MOST_KEPT = 64


@dataclass(frozen=True, eq=False)
class LikelySequences(Algorithm):
    """Release batches as the nearest of the k most likely ones, for at most 10,000 batches.

    `bound` is that of a whole batch.

    All n^w batches are written down with their probabilities b(o) (`walk`), for a chain of first
    order beta(o_1) prod C[o_i, o_i+1]; every one goes to the nearest of the k most likely, for each
    k up to 64, and the cheapest k after the repair wins, a smaller one within 1e-12. Costs have a
    closed form,

        [ g sum b(o) D(o, pi(o)) + sum m(r) sum_i E|X_i - r_i| ] / Z.

    Arrays are `(batches, rows)`, in lexicographic order. Source: SIP specification section 8,
    algorithm 2.
    """

    walk: Walk
    window: int
    distance: Distance
    bound: PrivacyBound

    def __post_init__(self) -> None:
        self.bound.reserve_of_rows(self.outcomes, 1)

    @property
    def draws(self) -> int:
        return 1

    @property
    def outcomes(self) -> int:
        """Return how many outcomes a draw has."""
        return int(self.walk.symbols**self.window)

    @property
    def size(self) -> int:
        if self.walk.is_plain:
            return self.outcomes
        states = self.walk.states
        return self.outcomes + self.outcomes // self.walk.symbols * states + states**2

    @property
    def roundings(self) -> int:
        """Count a product for each position, and sums over batches with the same last symbol."""
        sums = self.outcomes // self.walk.symbols + 8
        return self.walk.roundings(self.window, self.window) + sums

    def identity(self) -> tuple[str | int | bytes, ...]:
        return ("likely_sequences", 2)

    def law(self, belief: Floats, distances: Floats, steps: Integers | None = None) -> SequenceLaw:
        moves = self.walk.of(steps)
        doubts = doubts_of(distances + self.walk.product_distance(self.window), self.outcomes)
        prior, spread, joint = self._spelled_out(belief, moves)
        if compiled.available():
            from fugu.operators.sip.batches.compiled_likely_sequences import (
                CompiledSequenceLaw,
                cheapest_targets_compiled,
            )

            targets, cost = cheapest_targets_compiled(prior, spread, self.search)
            law: type[SequenceLaw] = CompiledSequenceLaw
        else:
            targets, cost = cheapest_targets(prior, spread, self.search)
            law = SequenceLaw
        return law(self.walk, self.bound, self.digits, prior, targets, cost, doubts, joint)

    def _spelled_out(self, belief: Floats, moves: Moves) -> tuple[Floats, Floats, Floats | None]:
        """Return P(batch), sum_i E D(X_i, r_i) of every batch r, and, where states are more than
        symbols, P(symbols before the last position, state there)."""
        if not self.walk.is_plain:
            joint = self.joint(belief, moves)
            kept = None if self.walk.remembers_symbols_only else joint
            return self.summed(joint), self.expected_distances(belief, moves), kept
        if not compiled.available():
            return self.prior(belief), self.expected_distances(belief, moves), None
        from fugu.operators.sip.batches.compiled_likely_sequences import spelled_out

        return *spelled_out(belief, self.digits, self.walk.power(1), self.table), None

    @cached_property
    def digits(self) -> Integers:
        """Return the symbol of each position in each batch, the first slowest."""
        symbols = (self.walk.symbols,) * self.window
        return np.indices(symbols).reshape(self.window, -1)

    @cached_property
    def search(self) -> Search:
        """Return what the search for targets is given beside beliefs."""
        kept = min(MOST_KEPT, self.outcomes)
        between = distances_between(self.digits, self.table)
        return Search(self.digits, self.table, kept, self.bound.gain, self.bound.growth, between)

    @cached_property
    def table(self) -> Floats:
        """Return D(x, y)."""
        return self.distance.table(self.walk.symbols)

    def prior(self, belief: Floats) -> Floats:
        """Return b(o) of every batch o, of a plain walk."""
        transition = self.walk.power(1)
        prior = belief[self.digits[0]]
        for now, following in zip(self.digits[:-1], self.digits[1:], strict=True):
            prior = prior * transition[now, following][:, None]
        return normalised(prior)

    def joint(self, belief: Floats, moves: Moves) -> Floats:
        """Return P(symbols before the last position, state there), `(sequences, states, rows)`."""
        joint = belief[None]
        for position in range(self.window - 1):
            joint = moves.split(joint, position)
        return joint

    def summed(self, joint: Floats) -> Floats:
        """Return b(o) of every batch o from that."""
        sequences, _, rows = joint.shape
        prior = np.zeros((sequences, self.walk.symbols, rows))
        for state, symbol in enumerate(self.walk.symbol_of_state.tolist()):
            prior[:, symbol] += joint[:, state]
        return normalised(prior.reshape(-1, rows))

    def expected_distances(self, belief: Floats, moves: Moves) -> Floats:
        """Return sum_i E D(X_i, r_i) of every batch r."""
        total = np.zeros((self.outcomes, belief.shape[1]))
        for position, digit in enumerate(self.digits):
            likely = self.walk.model.marginal(belief)
            total = total + ordered_sum(likely[:, None] * self.table[:, :, None])[digit]
            if position + 1 < self.window:
                belief = moves.predicted(belief, position)
        return total
