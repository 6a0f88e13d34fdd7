"""Batches released as the nearest of the k most likely ones: for at most 10,000 batches.

All n^w batches are written down with their probabilities b(o) = beta(o_1) prod C[o_i, o_i+1]; every
one goes to the nearest of the k most likely, for each k up to 64, and the cheapest k after the
repair wins, a smaller one within 1e-12. Costs have a closed form,

    [ g sum b(o) D(o, pi(o)) + sum m(r) sum_i E|X_i - r_i| ] / Z.

Arrays are `(batches, rows)`, in lexicographic order. Source: SIP specification section 8,
algorithm 2.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from operators.mechanism import Floats, Integers
from operators.nats import charge_of_ratio
from operators.sip.assignment import Assignment
from operators.sip.distances import Distance
from operators.sip.markov_model import MarkovModel, normalised, ordered_sum
from operators.sip.release_law import ReleaseLaw

MOST_BATCHES = 10_000
MOST_KEPT = 64
TIE = 1e-12


@dataclass(frozen=True, eq=False)
class LikelySequences:
    """The algorithm's constants; `gain` is e^eps - 1 and `growth` is e^eps of a whole batch."""

    model: MarkovModel
    window: int
    distance: Distance
    gain: float
    growth: float

    @property
    def draws(self) -> int:
        """One for the whole batch."""
        return 1

    @property
    def outcomes(self) -> int:
        """How many outcomes a draw has."""
        return int(self.model.symbols**self.window)

    @property
    def size(self) -> int:
        """All batches."""
        return int(self.model.symbols**self.window)

    @property
    def roundings(self) -> int:
        """Sums over all batches."""
        return 4 * self.outcomes + 3 * self.model.symbols + 2 * self.window

    def identity(self) -> tuple[str | int | bytes, ...]:
        """Its name and version."""
        return ("likely_sequences", 1)

    def law(self, belief: Floats) -> "SequenceLaw":
        """The cheapest k for each column of `belief`."""
        prior = self._prior(belief)
        spread = self._expected_distances(belief)
        kept = min(MOST_KEPT, len(prior))
        ranked = np.argsort(-prior, axis=0, kind="stable")[:kept]
        columns = np.arange(prior.shape[1])
        nearest, near = np.zeros(prior.shape, dtype=np.int64), np.full(prior.shape, np.inf)
        best, least = np.zeros_like(nearest), np.full(prior.shape[1], np.inf)
        for count in range(1, kept + 1):
            far = self._to(ranked[count - 1])
            nearer = far < near
            nearest = np.where(nearer, count - 1, nearest)
            near = np.where(nearer, far, near)
            place = (nearest * len(columns) + columns).ravel()
            gathered = np.bincount(place, prior.ravel(), count * len(columns)).reshape(count, -1)
            used = np.zeros((count, len(columns)), dtype=bool)
            used[nearest, columns] = True
            mass = np.where(used, np.maximum(gathered, 1.0 - self.growth * gathered), 0.0)
            apart = ordered_sum(mass * spread[ranked[:count], columns])
            moved = ordered_sum(prior * near)
            cost = (self.gain * moved + apart) / (self.gain + ordered_sum(mass))
            better = cost < least - TIE
            least = np.where(better, cost, least)
            best = np.where(better, nearest, best)
        targets = np.take_along_axis(ranked, best, axis=0)
        law = ReleaseLaw.repaired(prior, Assignment.to(targets), self.gain, self.growth)
        return SequenceLaw(self, law, least)

    @cached_property
    def digits(self) -> Integers:
        """The symbol of each position in each batch, `(window, batches)`, the first slowest."""
        symbols = (self.model.symbols,) * self.window
        return np.indices(symbols).reshape(self.window, -1)

    @cached_property
    def _table(self) -> Floats:
        return self.distance.table(self.model.symbols)

    def _prior(self, belief: Floats) -> Floats:
        prior = belief[self.digits[0]]
        for now, following in zip(self.digits[:-1], self.digits[1:], strict=True):
            prior = prior * self.model.transition[now, following][:, None]
        return normalised(prior)

    def _expected_distances(self, belief: Floats) -> Floats:
        """sum_i E D(X_i, r_i) of every batch r."""
        total = np.zeros((self.outcomes, belief.shape[1]))
        for digit in self.digits:
            total = total + ordered_sum(belief[:, None] * self._table[:, :, None])[digit]
            belief = self.model.predict(belief)
        return total

    def _to(self, batches: Integers) -> Floats:
        """How far every batch is from one of its own column."""
        total = np.zeros((self.outcomes, len(batches)))
        for digit in self.digits:
            total = total + self._table[:, digit[batches]][digit]
        return total


@dataclass(frozen=True, eq=False)
class SequenceLaw:
    """A law over all batches."""

    algorithm: LikelySequences
    law: ReleaseLaw
    cost: Floats

    @cached_property
    def charge(self) -> Integers:
        """The largest leakage over all batches."""
        return charge_of_ratio(self.law.leakage_ratio)

    def release(self, batches: Integers, uniforms: Floats) -> Integers:
        """One of the batches."""
        drawn = self.law.sample(self._number(batches), uniforms[0])
        return self.algorithm.digits[:, drawn]

    def probability(self, batches: Integers, released: Integers) -> Floats:
        """a(r|o)."""
        columns = np.arange(batches.shape[1])
        return self.law.probabilities(self._number(batches))[self._number(released), columns]

    def learned(self, released: Integers) -> Floats:
        """Sums of the posterior over all batches that have a symbol at a position."""
        posterior = self.law.posterior(self._number(released))
        symbols, window = self.algorithm.model.symbols, self.algorithm.window
        learned = np.empty((window, symbols, released.shape[1]))
        for position in range(window):
            earlier, later = symbols**position, symbols ** (window - position - 1)
            parts = posterior.reshape(earlier, symbols, later, -1)
            learned[position] = ordered_sum(ordered_sum(parts).transpose(1, 0, 2))
        return learned

    def _number(self, batches: Integers) -> Integers:
        """The place of each batch in lexicographic order."""
        number = np.zeros(batches.shape[1], dtype=np.int64)
        for symbols in batches:
            number = number * self.algorithm.model.symbols + symbols
        return number
