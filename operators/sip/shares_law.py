"""A release law in whole words, for proposals with rows of their own."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from fugu.operators.budget_units import charge_of_ratio
from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip.integer_law import LEAST_ROOM, MASS_UP, MOST_WORDS, RATIO_UP
from fugu.operators.sip.integer_shares import Shares
from fugu.operators.sip.markov_model import normalised, ordered_sum
from fugu.operators.sip.privacy_bound import PART_DOWN, UP, WORDS, PrivacyBound
from fugu.operators.sip.proposal import Mask, SharedProposal
from fugu.operators.sip.written_kernels import WrittenKernel


class ExactMeans(Protocol):
    """Bound the mean of a kernel under each belief that may be the exact one."""

    def means(self, kernel: WrittenKernel, mean: Floats) -> tuple[Floats, Floats]:
        """Return what the mean over x of the entry of each y is at least and at most, `(n, rows)`.

        `mean` is that under the belief as it stands.
        """


@dataclass(frozen=True, eq=False)
class Doubt(ExactMeans):
    """Bound means where the exact belief is within Hilbert's distance of the one in doubles."""

    rho: Floats

    def means(self, kernel: WrittenKernel, mean: Floats) -> tuple[Floats, Floats]:
        return mean * (1.0 - self.rho), mean * (1.0 + self.rho)


@dataclass(frozen=True, eq=False)
class SharesLaw:
    """Release by whole words, for a proposal that gives each truth a row of its own.

    Of the 2^64 words, W(y|x) = U(y) + V(y|x) release y for x: V are the shares of the proposal,
    which depend on x, and U >= 1 on the support S makes them private. With the bounds E, g and UP
    and the doubt rho of `privacy_bound`, v(y) = sum beta(x) V(y|x) and k(y) = max over x of V(y|x)
    UP,

        U(y) = ceil( max( k(y) - E v(y) (1 - rho), v(y) (1 + rho) ) / g UP ) + 1

    is enough (theorem of section 2), and the first of the largest b(y) = sum beta(x) pi(y|x) takes
    the words that are left over. Where they do not fit, or the belief is too uncertain, that y is
    always released: what is constant is a function of public data.

    A release takes one word, all of it: exactly W(y|x) words give y. Everything is `(n, rows)`: one
    column per stream. Source: symbol sampling specification, sections 2 to 5 ("Any other
    proposal").

    Where `constant`, the symbol `top` is always released. `ratio` is e to the actual leakage.

    >>> from fugu.operators.sip.assignment import Assignment
    >>> belief, itself = np.array([[0.9], [0.1]]), Assignment.to(np.array([[0], [1]]))
    >>> law = SharesLaw.of(belief, itself, PrivacyBound.of(1.0), np.zeros(1))
    >>> weights = law.weights(np.array([0]))[:, 0].tolist()
    >>> sum(weights) == 2**64, round(weights[0] / 2**64, 4), law.charge.tolist() <= [2**40]
    (True, 0.7824, True)
    """

    belief: Floats
    bound: PrivacyBound
    shares: Shares
    support: Mask
    total: Words
    common: Words
    expected: Floats
    top: Integers
    constant: Mask
    ratio: Floats

    @classmethod
    def of(
        cls, belief: Floats, proposal: SharedProposal, bound: PrivacyBound, doubt: Floats
    ) -> "SharesLaw":
        """Make a proposal private; `doubt (rows,)` is rho, infinite where nothing is known."""
        certain = np.isfinite(doubt)
        return cls.between(belief, proposal, bound, certain, Doubt(np.where(certain, doubt, 0.0)))

    @classmethod
    def between(
        cls,
        belief: Floats,
        proposal: SharedProposal,
        bound: PrivacyBound,
        certain: Mask,
        exact: "ExactMeans",
    ) -> "SharesLaw":
        """Make a proposal private for all beliefs of a set, whose means `exact` bounds.

        `belief` is one of them, and chooses the symbol that takes what is left over. A column that
        is not `certain` releases a constant.
        """
        growth, gain = bound.growth, bound.gain
        support, marginal = proposal.support, proposal.marginal(belief)
        top = np.argmax(marginal, axis=0)
        largest = proposal.largest() * UP
        least_likely, most_likely = exact.means(proposal, marginal)
        need = np.maximum(largest - growth * least_likely, most_likely)
        need = ordered_sum(np.where(support, need / gain, 0.0))
        reserve = bound.reserve_of_rows(len(belief), proposal.most_targets)
        room = (WORDS - reserve) / ((1.0 + need * MASS_UP) * UP)
        varies = certain & (support.sum(axis=0) > 1) & (room >= LEAST_ROOM)
        total = np.where(varies, room, 0.0).astype(np.uint64)

        shares = proposal.shares(total)
        expected, most = shares.expected(belief), shares.largest() * UP
        low, high = exact.means(shares, expected)
        least = np.ceil(np.maximum(most - growth * low, high) / gain * UP) + 1.0
        least = np.where(support, least, 0.0)
        varies &= ordered_sum(least) * UP + total < MOST_WORDS
        common = np.where(varies, least, 0.0).astype(np.uint64)
        rest = np.uint64(0) - total - common.sum(axis=0, dtype=np.uint64)
        common[top, np.arange(len(top))] += rest

        words = common * UP
        with np.errstate(divide="ignore", invalid="ignore"):
            above = (words + most) / (common + low)
            below = (words + high) / (common + shares.smallest() * PART_DOWN)
        worst = np.where(support, np.maximum(above, below), 1.0).max(axis=0)
        ratio = np.where(varies, np.minimum(growth, worst * RATIO_UP), 1.0)
        given = (shares, support, total, common, expected)
        return cls(belief, bound, *given, top, ~varies, ratio)

    def draw(self, symbols: Integers, words: Words) -> Integers:
        """Draw y given x with one word for each column, in the same steps whatever x is."""
        beyond = words - self.total
        common = np.minimum((self._reached <= beyond).sum(axis=0), len(self.common) - 1)
        own = self.shares.drawn(symbols, words)
        drawn = np.where(words < self.total, own, common)
        return np.where(self.constant, self.top, drawn)

    def weights(self, symbols: Integers) -> Words:
        """Return W(y|x) over y, for the one x of each column; not for constant ones."""
        return self.common + self.shares.row(symbols)

    def probabilities(self, symbols: Integers) -> Floats:
        """Return W(y|x) / 2^64 over y, for the one x of each column."""
        always = np.arange(len(self.common))[:, None] == self.top
        return np.where(self.constant, always, self.weights(symbols) / WORDS)

    def likelihood(self, released: Integers) -> Floats:
        """Return W(y|x) over x, as doubles, for the one y of each column."""
        common = self.common[released, np.arange(len(released))]
        words = (common + self.shares.column(released)).astype(np.float64)
        return np.where(self.constant, 1.0, words)

    def posterior(self, released: Integers) -> Floats:
        """Return P(x | y and everything released before), paper equation 13 (correction step)."""
        return normalised(self.belief * self.likelihood(released))

    def expected_releases(self) -> Floats:
        """Return the probability of every y under the belief."""
        always = np.arange(len(self.common))[:, None] == self.top
        return np.where(self.constant, always, (self.common + self.expected) / WORDS)

    def report(self, released: Integers) -> Floats:
        """Report beta(x) + [1(x = y) - q(x)] 2^64 / G, which does not lean on beta.

        Its mean given the truth t is beta(x) + [V(x|t) - v(x)] / G, whatever led to t: 1(x = t) for
        every x that the proposal keeps, and moves no other symbol to.
        """
        columns = np.arange(len(released))
        total = np.where(self.constant, 1.0, self.total.astype(np.float64))
        surplus = -(self.common + self.expected) / total
        surplus[released, columns] += WORDS / total
        return self.belief + np.where(self.constant, 0.0, surplus)

    @cached_property
    def charge(self) -> Integers:
        """Return units of 2^-40 nat that cover the release, never above epsilon."""
        return np.minimum(charge_of_ratio(self.ratio), self.bound.charge)

    @cached_property
    def leakage(self) -> Floats:
        """Return the leakage of the step in nats, relative to the belief as it stands."""
        varies = self.support & ~self.constant
        released = np.where(varies, self.common + self.expected, 1.0)
        most = np.where(varies, self.common + self.shares.largest(), 1.0)
        least = np.where(varies, self.common + self.shares.smallest(), 1.0)
        return np.asarray(np.log(np.maximum(most / released, released / least).max(axis=0)))

    @cached_property
    def _reached(self) -> Words:
        """Return U(0) + .. + U(y); the last sum is 2^64 - G."""
        return np.cumsum(self.common, axis=0, dtype=np.uint64)
