"""Make release laws of whole words, which keep a privacy bound exactly."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from fugu.operators.budget_units import charge_of_ratio
from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip.markov_model import normalised, ordered_sum
from fugu.operators.sip.privacy_bound import PART_DOWN, UP, WORDS, PrivacyBound, PrivacyBounds
from fugu.operators.sip.proposals import Mask, SharedProposal, Shares, StayOrFill, WrittenKernel

FORMAT = ("integer", 1)
"""Tell in law digests that laws are made and drawn in this way."""
MASS_UP = 1.0 + 2.0**-40
RATIO_UP = 1.0 + 2.0**-48
LEAST_ROOM = 2.0**32
MOST_WORDS = WORDS * (1.0 - 2.0**-52)


@dataclass(frozen=True, eq=False)
class IntegerLaw:
    """Release by whole words: of the 2^64 words, W(y|x) release y where x is the truth.

        W(y|x) = U(y) + V(y|x)        sum_y V(y|x) = G for every x        sum_y U(y) = 2^64 - G

    V is a proposal in integers, rounded in any way. Let v(y) be its mean under the exact belief.
    The law is epsilon-private for every x, and 2 epsilon-LDP, if for every y

        U(y) (E - 1) >= max( max_x V(y|x) - E v(y),  v(y) - E min_x V(y|x) )

    (integer repair theorem). These are lower bounds, so doubles may decide as long as they err
    upwards, and the words that are left may go anywhere: to the most likely symbol. Every
    releasable symbol has a word of its own for every truth, one word draws a release with all its
    bits, and what the belief may be off by is paid in U. So the promise is pure: no delta, and no
    charge for rounding.

    Here V is a proposal that stays or fills (`stay_or_fill`): I words stay, F is the row that the
    others share, and P that of the one that is kept partially. Everything is `(n, rows)`: symbol
    first, one column per stream. Where nothing else is safe, or there is one symbol to release, the
    column's release is constant.

    `ratio` is e to the power of what a release leaks at most, for every exact belief in doubt;
    `constant` is the symbol of a column that releases nothing else, or -1.

    Source: symbol sampling specification, sections 2 to 5.
    """

    belief: Floats
    proposal: StayOrFill
    bound: PrivacyBound | PrivacyBounds
    total: Words
    own: Words
    fill: Words
    partial: Words
    repair: Words
    mean: Floats
    ratio: Floats
    constant: Integers

    @classmethod
    def of(
        cls,
        belief: Floats,
        proposal: StayOrFill,
        bound: PrivacyBound | PrivacyBounds,
        reserve: float | Floats,
        doubt: Floats,
    ) -> "IntegerLaw":
        """Make the law; `doubt` is rho of each column, and infinite where nothing is known."""
        top, columns = belief.argmax(axis=0), np.arange(belief.shape[1])
        safe = np.isfinite(doubt)
        rho = np.where(safe, doubt, 0.0)
        less, more = 1.0 - rho, 1.0 + rho

        def least(most: Floats, mean: Floats) -> Floats:
            """U has to be that at least, whatever the exact belief is."""
            needed = np.maximum(most - bound.growth * (mean * less), mean * more) / bound.gain
            return np.where(proposal.support, needed, 0.0)

        largest = np.minimum(1.0, _largest(proposal)) * UP
        mass = ordered_sum(least(largest, _spread(belief, proposal)))
        room = (WORDS - reserve) / ((1.0 + mass * MASS_UP) * UP)
        safe &= room >= LEAST_ROOM
        total = np.where(safe, room, LEAST_ROOM).astype(np.uint64)
        own, fill, partial = _rows(proposal, total, top)
        mean = _mean(belief, proposal, own, fill, partial)
        most = np.maximum(np.maximum(_kept(proposal, own, fill, partial), fill), partial)
        at_most = most.astype(np.float64) * UP
        needed = np.where(proposal.support, np.ceil(least(at_most, mean) * UP) + 1.0, 0.0)
        safe &= ordered_sum(needed) * UP + total.astype(np.float64) < MOST_WORDS
        repair = np.where(safe, needed, 0.0).astype(np.uint64)
        repair[top, columns] -= total + repair.sum(axis=0, dtype=np.uint64)
        released = np.where(proposal.support & safe, repair.astype(np.float64), 1.0)
        upper = (released * UP + at_most) / (released + mean * less)
        lower = (released * UP + mean * more) / released
        worst = np.where(proposal.support, np.maximum(upper, lower), 1.0).max(axis=0)
        constant = np.where(safe, -1, top)
        alone = proposal.constant.any(axis=0)
        constant = np.where(alone, proposal.constant.argmax(axis=0), constant)
        ratio = np.where(constant < 0, np.minimum(bound.growth, RATIO_UP * worst), 1.0)
        rows = own, fill, partial, repair
        return cls(belief, proposal, bound, total, *rows, mean, ratio, constant)

    def weights(self, symbols: Integers) -> Words:
        """Return W(y|x) over y, for the one x of each column; 0, for 2^64, where it is constant."""
        columns = np.arange(len(symbols))
        weights = self.repair + self._moved(symbols)
        weights[symbols, columns] += self.own[symbols, columns]
        is_constant = np.flatnonzero(self.constant >= 0)
        weights[:, is_constant] = 0
        return weights

    def probabilities(self, symbols: Integers) -> Floats:
        """Return W(y|x) / 2^64 over y, for the one x of each column."""
        probabilities = self.weights(symbols).astype(np.float64) / WORDS
        is_constant = np.flatnonzero(self.constant >= 0)
        probabilities[self.constant[is_constant], is_constant] = 1.0
        return probabilities

    def draw(self, symbols: Integers, words: Words) -> Integers:
        """Release what the word of each column says: exactly W(y|x) words release y.

        All sums are always made, so that time does not tell which of them was needed.
        """
        own = self.own[symbols, np.arange(len(symbols))]
        moved = _position(self._moved(symbols), words - own)
        repaired = _position(self.repair, words - self.total)
        drawn = np.where(words < own, symbols, np.where(words < self.total, moved, repaired))
        return np.where(self.constant >= 0, self.constant, drawn)

    def likelihood(self, released: Integers) -> Floats:
        """Return W(y|x) over x, as doubles, for the one y of each column."""
        columns, proposal = np.arange(len(released)), self.proposal
        moved = np.where(proposal.own < 1.0, self.fill[released, columns], np.uint64(0))
        moved = np.where(proposal.partial, self.partial[released, columns], moved)
        words = self.repair[released, columns] + moved
        words[released, columns] += self.own[released, columns]
        return np.where(self.constant >= 0, 1.0, words.astype(np.float64))

    def posterior(self, released: Integers) -> Floats:
        """Return P(x | y and everything released before), paper equation 13 (correction step)."""
        return normalised(self.belief * self.likelihood(released))

    def expected_releases(self) -> Floats:
        """Return the probability of every y under the belief, which is q(y) / 2^64."""
        chances = (self.repair.astype(np.float64) + self.mean) / WORDS
        is_constant = np.flatnonzero(self.constant >= 0)
        chances[:, is_constant] = 0.0
        chances[self.constant[is_constant], is_constant] = 1.0
        return chances

    def report(self, released: Integers) -> Floats:
        """Report beta(x) + [1(x = y) - q(x)] 2^64 / G, which does not lean on beta.

        Its mean given the truth t is beta(x) + (V(x|t) - v(x)) / G, whatever led to t: that is 1(x
        = t) for every x that the proposal keeps, and moves no other symbol to. A posterior's mean
        is 1(x = t) only on average over a belief that is right.
        """
        columns, total = np.arange(len(released)), self.total.astype(np.float64)
        surplus = -(self.repair.astype(np.float64) + self.mean) / total
        surplus[released, columns] += WORDS / total
        return self.belief + np.where(self.constant >= 0, 0.0, surplus)

    @cached_property
    def charge(self) -> Integers:
        """Return units that cover the leakage of the release relative to every belief in doubt."""
        return np.minimum(charge_of_ratio(self.ratio), self.bound.charge)

    @cached_property
    def leakage(self) -> Floats:
        """Return the leakage of the step in nats, relative to the belief as it stands."""
        proposal, support = self.proposal, self.proposal.support
        stays = proposal.own == 1.0
        most = _kept(proposal, self.own, self.fill, self.partial)
        least = np.where(stays.sum(axis=0) - stays > 0, np.uint64(0), most)
        filled = (~stays & ~proposal.partial).any(axis=0)
        for there, row in ((filled, self.fill), (proposal.partial.any(axis=0), self.partial)):
            most = np.where(there, np.maximum(most, row), most)
            least = np.where(there, np.minimum(least, row), least)
        repair = self.repair.astype(np.float64)
        released = np.where(support, repair + self.mean, 1.0)
        upper = np.where(support, repair + most.astype(np.float64), 1.0) / released
        lower = released / np.where(support, repair + least.astype(np.float64), 1.0)
        worst = np.log(np.maximum(upper, lower).max(axis=0))
        return np.where(self.constant >= 0, 0.0, worst)

    def _moved(self, symbols: Integers) -> Words:
        """Return the words of the row that each column's x shares, or none."""
        columns, proposal = np.arange(len(symbols)), self.proposal
        moves = proposal.own[symbols, columns] < 1.0
        moved = np.where(moves, self.fill, np.uint64(0))
        return np.where(proposal.partial[symbols, columns], self.partial, moved)


def _largest(proposal: StayOrFill) -> Floats:
    """Return kappa(y), or more."""
    into = np.where(proposal.partial, proposal.partial_fill, proposal.fill)
    stays = proposal.own + np.where(proposal.own < 1.0, into, 0.0)
    return np.asarray(np.maximum(np.maximum(stays, proposal.fill), proposal.partial_fill))


def _spread(belief: Floats, proposal: StayOrFill) -> Floats:
    """Return b(y)."""
    moved = belief * (1.0 - proposal.own)
    from_others = ordered_sum(np.where(proposal.partial, 0.0, moved))
    from_partial = ordered_sum(np.where(proposal.partial, moved, 0.0))
    spread: Floats = belief * proposal.own + from_others * proposal.fill
    return spread + from_partial * proposal.partial_fill


def _rows(proposal: StayOrFill, total: Words, top: Integers) -> tuple[Words, Words, Words]:
    """Return I, F and P."""
    nothing, moves = np.uint64(0), proposal.own < 1.0
    share = (proposal.own * total.astype(np.float64)).astype(np.uint64)
    kept = np.where(moves, nothing, total)
    own = np.where(proposal.partial, np.minimum(share, total), kept)
    rest = np.where(proposal.partial, total - own, nothing).sum(axis=0, dtype=np.uint64)
    fill = _shares(proposal.fill, np.where(moves.any(axis=0), total, nothing), top)
    return own, fill, _shares(proposal.partial_fill, rest, top)


def _mean(belief: Floats, proposal: StayOrFill, own: Words, fill: Words, partial: Words) -> Floats:
    """Return v(y)."""
    moves = (proposal.own < 1.0) & ~proposal.partial
    others = ordered_sum(np.where(moves, belief, 0.0))
    kept_partially = ordered_sum(np.where(proposal.partial, belief, 0.0))
    mean: Floats = belief * own.astype(np.float64) + others * fill.astype(np.float64)
    return mean + kept_partially * partial.astype(np.float64)


def _kept(proposal: StayOrFill, own: Words, fill: Words, partial: Words) -> Words:
    """Return V(y|y)."""
    moved = np.where(proposal.own < 1.0, fill, np.uint64(0))
    return np.asarray(own + np.where(proposal.partial, partial, moved))


def _shares(row: Floats, available: Words, top: Integers) -> Words:
    """Return the row in whole words, rounded down; the top takes what is left of `available`."""
    columns = np.arange(len(top))
    parts = np.floor(row * available.astype(np.float64) * PART_DOWN)
    parts[top, columns] = 0.0
    sums = np.cumsum(parts.astype(np.uint64), axis=0, dtype=np.uint64)
    beyond = np.zeros(sums.shape, dtype=bool)
    beyond[1:] = sums[1:] < sums[:-1]
    beyond = np.logical_or.accumulate(beyond, axis=0)
    sums = np.where(beyond, available, np.minimum(sums, available))
    shares = sums.copy()
    shares[1:] -= sums[:-1]
    shares[top, columns] = available - sums[-1]
    return shares


def _position(row: Words, words: Words) -> Integers:
    """Return how many prefix sums of each column are at most its word."""
    sums = np.cumsum(row, axis=0, dtype=np.uint64)
    return np.asarray((sums <= words).sum(axis=0))


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

    >>> from fugu.operators.sip.metric_kernel import Assignment
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
