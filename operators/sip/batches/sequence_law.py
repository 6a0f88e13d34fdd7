"""The law of one batch among all batches, each of which goes to one of the likely ones."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip.assignment import Assignment
from fugu.operators.sip.batches.walk import Walk
from fugu.operators.sip.markov_model import normalised, ordered_sum
from fugu.operators.sip.privacy_bound import PrivacyBound
from fugu.operators.sip.shares_law import SharesLaw


@dataclass(frozen=True, eq=False)
class SequenceLaw:
    """Release one of all batches, given the target of each; `doubts` are rho of each column.

    `bound` is that of a whole batch, and `digits (window, batches)` are the symbols of each batch.
    `joint (sequences, states, rows)` is P(symbols before the last position, state there); None:
    states are symbols.
    """

    walk: Walk
    bound: PrivacyBound
    digits: Integers
    prior: Floats
    targets: Integers
    cost: Floats
    doubts: Floats
    joint: Floats | None = None

    def columns(self, columns: Integers) -> "SequenceLaw":
        """Return the law of some streams."""
        prior, targets = self.prior[:, columns], self.targets[:, columns]
        cost, doubts = self.cost[columns], self.doubts[columns]
        joint = None if self.joint is None else self.joint[:, :, columns]
        return replace(self, prior=prior, targets=targets, cost=cost, doubts=doubts, joint=joint)

    @cached_property
    def law(self) -> SharesLaw:
        """Return the integer law with the targets as proposal."""
        proposal = Assignment.to(self.targets)
        return SharesLaw.of(self.prior, proposal, self.bound, self.doubts)

    @property
    def charge(self) -> Integers:
        """Return the units that cover the largest leakage over all batches."""
        return self.law.charge

    @property
    def leakage(self) -> Floats:
        """Return the largest leakage over all batches, in nats."""
        return self.law.leakage

    def release(self, batches: Integers, words: Words) -> Integers:
        """Draw one of the batches."""
        drawn = self.law.draw(self.number(batches), words[0])
        return self.digits[:, drawn]

    def probability(self, batches: Integers, released: Integers) -> Floats:
        """Return a(r|o), for the o and the r of each column."""
        columns = np.arange(batches.shape[1])
        return self.law.probabilities(self.number(batches))[self.number(released), columns]

    def learned(self, released: Integers) -> Floats:
        """Return sums of the posterior over all batches that have a symbol at a position."""
        posterior = self.law.posterior(self.number(released))
        symbols, window = self.walk.symbols, len(self.digits)
        learned = np.empty((window, symbols, released.shape[1]))
        for position in range(window):
            earlier, later = symbols**position, symbols ** (window - position - 1)
            parts = posterior.reshape(earlier, symbols, later, -1)
            learned[position] = ordered_sum(ordered_sum(parts).transpose(1, 0, 2))
        return learned

    def last_state(self, released: Integers, learned: Floats) -> Floats:
        """Return sums over all batches that end in a state."""
        if self.joint is None:
            return np.asarray(learned[-1])
        likelihood = self.likelihood(self.number(released))
        per_symbol = likelihood.reshape(len(self.joint), self.walk.symbols, -1)
        return normalised(ordered_sum(self.joint * per_symbol[:, self.walk.symbol_of_state]))

    def likelihood(self, numbers: Integers) -> Floats:
        """Return how likely each batch makes the release with the number of each column, up to a
        factor, `(batches, rows)`."""
        return self.law.likelihood(numbers)

    def expected(self, released: Integers) -> Floats:
        """Return sums of the probabilities of all batches that go on from what was released."""
        chances, columns = self.law.expected_releases(), np.arange(released.shape[1])
        symbols, expected = self.walk.symbols, []
        for shown in released:
            parts = chances.reshape(symbols, -1, released.shape[1])
            expected.append(normalised(ordered_sum(parts.transpose(1, 0, 2))))
            chances = parts[shown, :, columns].T
        return np.stack(expected)

    def number(self, batches: Integers) -> Integers:
        """Return the place of each batch in lexicographic order."""
        alphabets = (self.walk.symbols,) * len(batches)
        return np.asarray(np.ravel_multi_index(tuple(batches), alphabets))
