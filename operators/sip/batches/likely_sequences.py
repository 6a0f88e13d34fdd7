"""Batches released as one of the likely ones."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.operators import compiled
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.batches.batch_law import Algorithm
from fugu.operators.sip.batches.cheapest_targets import Search, cheapest_targets, distances_between
from fugu.operators.sip.batches.model_error import doubts_of, product_distance
from fugu.operators.sip.batches.sequence_law import SequenceLaw
from fugu.operators.sip.distances import Distance
from fugu.operators.sip.markov_model import MarkovModel, normalised, ordered_sum
from fugu.operators.sip.privacy_bound import PrivacyBound

MOST_BATCHES = 10_000
MOST_KEPT = 64


@dataclass(frozen=True, eq=False)
class LikelySequences(Algorithm):
    """Release batches as the nearest of the k most likely ones, for at most 10,000 batches.

    `bound` is that of a whole batch.

    All n^w batches are written down with their probabilities b(o) = beta(o_1) prod C[o_i, o_i+1];
    every one goes to the nearest of the k most likely, for each k up to 64, and the cheapest k
    after the repair wins, a smaller one within 1e-12. Costs have a closed form,

        [ g sum b(o) D(o, pi(o)) + sum m(r) sum_i E|X_i - r_i| ] / Z.

    Arrays are `(batches, rows)`, in lexicographic order. Source: SIP specification section 8,
    algorithm 2.
    """

    model: MarkovModel
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
        return int(self.model.symbols**self.window)

    @property
    def size(self) -> int:
        return int(self.model.symbols**self.window)

    @property
    def roundings(self) -> int:
        """Count a product for each position, and sums over batches with the same last symbol."""
        return self.window + self.outcomes // self.model.symbols + 8

    def identity(self) -> tuple[str | int | bytes, ...]:
        return ("likely_sequences", 2)

    def law(self, belief: Floats, distances: Floats) -> SequenceLaw:
        product = product_distance(self.model, self.window)
        doubts = doubts_of(distances + product, self.outcomes)
        if compiled.available():
            from fugu.operators.sip.batches.compiled_cheapest_targets import (
                cheapest_targets_compiled,
            )
            from fugu.operators.sip.batches.compiled_likely_sequences import spelled_out
            from fugu.operators.sip.batches.compiled_sequence_law import CompiledSequenceLaw

            prior, spread = spelled_out(belief, self)
            targets, cost = cheapest_targets_compiled(prior, spread, self.search)
            return CompiledSequenceLaw(self, prior, targets, cost, doubts)
        prior, spread = self.prior(belief), self.expected_distances(belief)
        targets, cost = cheapest_targets(prior, spread, self.search)
        return SequenceLaw(self, prior, targets, cost, doubts)

    @cached_property
    def digits(self) -> Integers:
        """Return the symbol of each position in each batch, the first slowest."""
        symbols = (self.model.symbols,) * self.window
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
        return self.distance.table(self.model.symbols)

    def prior(self, belief: Floats) -> Floats:
        """Return b(o) of every batch o."""
        prior = belief[self.digits[0]]
        for now, following in zip(self.digits[:-1], self.digits[1:], strict=True):
            prior = prior * self.model.transition[now, following][:, None]
        return normalised(prior)

    def expected_distances(self, belief: Floats) -> Floats:
        """Return sum_i E D(X_i, r_i) of every batch r."""
        total = np.zeros((self.outcomes, belief.shape[1]))
        for digit in self.digits:
            total = total + ordered_sum(belief[:, None] * self.table[:, :, None])[digit]
            belief = self.model.predict(belief)
        return total
