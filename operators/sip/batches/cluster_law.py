"""The law of sequences of groups, as a law over batches."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip.batches.batch_law import BatchLaw
from fugu.operators.sip.explicit_kernel import ExplicitKernel
from fugu.operators.sip.markov_model import normalised, ordered_sum
from fugu.operators.sip.shares_law import SharesLaw

if TYPE_CHECKING:
    from fugu.operators.sip.batches.cluster_sequences import ClusterSequences


@dataclass(frozen=True, eq=False)
class ClusterLaw(BatchLaw):
    """Present a law over sequences of groups as a law over batches.

    `joint (window, states, sequences, rows)` is P(state at a position, groups of all positions),
    `grouped (window, n, rows)` is the group of each symbol. `shown (window, places, rows)` are the
    symbols that may be released; `ClusterSequences.places` says which of them a sequence has.
    """

    algorithm: "ClusterSequences"
    grouped: Integers
    shown: Integers
    joint: Floats
    proposal: ExplicitKernel
    doubts: Floats

    def columns(self, columns: Integers) -> "ClusterLaw":
        return ClusterLaw(
            self.algorithm,
            self.grouped[:, :, columns],
            self.shown[:, :, columns],
            self.joint[..., columns],
            ExplicitKernel(self.proposal.matrix[:, :, columns]),
            self.doubts[columns],
        )

    @cached_property
    def prior(self) -> Floats:
        """Return b(c) of every sequence of groups c."""
        return normalised(ordered_sum(self.joint[-1]))

    @cached_property
    def law(self) -> SharesLaw:
        """Return the law over sequences of groups."""
        return SharesLaw.of(self.prior, self.proposal, self.algorithm.bound, self.doubts)

    @cached_property
    def cost(self) -> Floats:
        weighted = self.algorithm.weighted(self.joint, self.shown)
        return self.algorithm.expected(self.prior, self.proposal, weighted)

    @property
    def charge(self) -> Integers:
        return self.law.charge

    @property
    def leakage(self) -> Floats:
        return self.law.leakage

    def release(self, batches: Integers, words: Words) -> Integers:
        drawn = self.law.draw(self._sequences(batches), words[0])
        columns = np.arange(batches.shape[1])
        return np.stack(
            [
                shown[places[drawn], columns]
                for shown, places in zip(self.shown, self.algorithm.places, strict=True)
            ]
        )

    def probability(self, batches: Integers, released: Integers) -> Floats:
        columns = np.arange(batches.shape[1])
        sequences = self._sequences(released)
        law = self.law.probabilities(self._sequences(batches))[sequences, columns]
        possible = np.ones(len(columns), dtype=bool)
        for position, places in enumerate(self.algorithm.places):
            shown = self.shown[position, places[sequences], columns]
            possible &= shown == released[position]
        return np.where(possible, law, 0.0)

    def learned(self, released: Integers) -> Floats:
        likelihood = self.law.likelihood(self._sequences(released))
        model = self.algorithm.walk.model
        learned = np.empty((len(released), model.symbols, released.shape[1]))
        for position, joint in enumerate(self.joint):
            learned[position] = model.marginal(_over_sequences(joint, likelihood))
        return learned

    def last_state(self, released: Integers, learned: Floats) -> Floats:
        if self.algorithm.walk.remembers_symbols_only:
            return np.asarray(learned[-1])
        likelihood = self.law.likelihood(self._sequences(released))
        return _over_sequences(self.joint[-1], likelihood)

    def expected(self, released: Integers) -> Floats:
        columns, expected = np.arange(released.shape[1]), []
        chances = self.law.expected_releases()
        for position, places in enumerate(self.algorithm.places):
            shown = self.shown[position, places]
            here = np.zeros((self.algorithm.walk.symbols, len(columns)))
            for chance, symbols in zip(normalised(chances), shown, strict=True):
                here[symbols, columns] += chance
            expected.append(here)
            chances = np.where(shown == released[position], chances, 0.0)
        return np.stack(expected)

    def _sequences(self, batches: Integers) -> Integers:
        """Return the number of each batch's sequence of groups."""
        groups = np.take_along_axis(self.grouped, batches[:, None], axis=1)[:, 0]
        return np.asarray(np.ravel_multi_index(tuple(groups), self.algorithm.counts))


def _over_sequences(joint: Floats, likelihood: Floats) -> Floats:
    """Return P(state | released), a sum over sequences of groups."""
    per_sequence = np.ascontiguousarray((joint * likelihood).transpose(1, 0, 2))
    return normalised(ordered_sum(per_sequence))
