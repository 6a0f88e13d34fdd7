"""Send every batch to the nearest of the likely ones, and draw from the law that follows."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip.batches.walk import Walk
from fugu.operators.sip.integer_law import SharesLaw
from fugu.operators.sip.markov_model import normalised, ordered_sum
from fugu.operators.sip.metric_kernel import Assignment
from fugu.operators.sip.privacy_bound import PrivacyBound

TIE = 1e-12
MOST_PAIRED = 512
SURELY = 1e-6
"""By so much of e^eps top it must be above 0: by far more than rounding."""


class Search(NamedTuple):
    """Hold the symbols of each batch, D(x, y), the largest k, g and e^eps.

    `between[r, o]` is how far two batches are from each other; it is empty where they are many.
    """

    digits: Integers
    table: Floats
    kept: int
    gain: float
    growth: float
    between: Floats


def cheapest_targets(prior: Floats, spread: Floats, search: Search) -> tuple[Integers, Floats]:
    """Return the target of every batch, and its cost; `spread` is E D(X, r) of every batch r.

    The search ends before the largest k where no later one can be cheaper. Let p(o) be the
    probability of a batch, c the least cost so far, and every s(r) = E D(X, r) within [c, top]. A
    target gathers its own batch at least, b(r) >= p(r), and m(r) >= 1 - e^eps b(r), so that every
    later k has

        Z (cost - c) = g sum p(o) D(o, pi(o)) + sum m(r) (s(r) - c) - g c
                    >= sum over the targets so far of (1 - e^eps p(r)) (s(r) - c)
                       - e^eps (1 - sum over them of p(r)) (top - c) - g c.

    Where the search ends thus never shows. Everything is `(batches, rows)`.
    """
    digits, table, kept, gain, growth, _ = search
    rows = prior.shape[1]
    targets, cost = np.zeros(prior.shape, dtype=np.int64), np.full(rows, np.inf)
    ranked = np.argsort(-prior, axis=0, kind="stable")[:kept]
    nearest, near = np.zeros(prior.shape, dtype=np.int64), np.full(prior.shape, np.inf)
    open_rows = np.arange(rows)
    for count in range(1, kept + 1):
        far = _to(ranked[count - 1], digits, table)
        nearer = far < near
        nearest = np.where(nearer, count - 1, nearest)
        near = np.where(nearer, far, near)
        columns = np.arange(len(open_rows))
        place = (nearest * len(columns) + columns).ravel()
        gathered = np.bincount(place, prior.ravel(), count * len(columns)).reshape(count, -1)
        used = np.zeros((count, len(columns)), dtype=bool)
        used[nearest, columns] = True
        mass = np.where(used, np.maximum(gathered, 1.0 - growth * gathered), 0.0)
        its = spread[ranked[:count], columns]
        apart, moved = ordered_sum(mass * its), ordered_sum(prior * near)
        costs = (gain * moved + apart) / (gain + ordered_sum(mass))
        better = np.flatnonzero(costs < cost[open_rows] - TIE)
        cost[open_rows[better]] = costs[better]
        targets[:, open_rows[better]] = ranked[nearest[:, better], better]

        least, top = cost[open_rows], spread.max(axis=0)
        likely = np.where(used, prior[ranked[:count], columns], 0.0)
        beyond = np.where(used, (1.0 - growth * likely) * (its - least), 0.0).sum(axis=0)
        beyond -= growth * (1.0 - likely.sum(axis=0)) * (top - least) + gain * least
        hopeless = (spread.min(axis=0) >= least) & (beyond >= SURELY * growth * top)
        if hopeless.any():
            going = np.flatnonzero(~hopeless)
            prior, spread, ranked = prior[:, going], spread[:, going], ranked[:, going]
            nearest, near, open_rows = nearest[:, going], near[:, going], open_rows[going]
            if len(going) == 0:
                break
    return targets, cost


def distances_between(digits: Integers, table: Floats) -> Floats:
    """Return how far batches are from each other, if they are few enough to write it down."""
    batches = digits.shape[1]
    if batches > MOST_PAIRED:
        return np.zeros((0, 0))
    return np.ascontiguousarray(_to(np.arange(batches), digits, table).T)


def _to(batches: Integers, digits: Integers, table: Floats) -> Floats:
    """Return how far every batch is from one of its own column."""
    total = np.zeros((digits.shape[1], len(batches)))
    for digit in digits:
        total = total + table[:, digit[batches]][digit]
    return total


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
