"""A release law in doubles, and the repair that makes it private."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.operators.budget_units import charge_of_ratio
from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.randomness import unit_interval
from fugu.operators.sip.markov_model import normalised, ordered_sum
from fugu.operators.sip.proposals import Proposal


@dataclass(frozen=True, eq=False)
class ReleaseLaw:
    """Release by a(y|x) = [m(y) + g pi(y|x)] / Z, which is epsilon-private for every belief.

    Repair theorem (SIP specification section 3, in place of the paper's Theorem 4). For *any*
    row-stochastic proposal pi over a support S that depends on public data only, with g = e^eps -
    1,

        b(y) = sum_x beta(x) pi(y|x)             kappa(y) = max over all x of pi(y|x)
        m(y) = max( b(y), kappa(y) - e^eps b(y) )       Z = g + sum_S m
        a(y|x) = [ m(y) + g pi(y|x) ] / Z

    satisfies e^-eps q(y) <= a(y|x) <= e^eps q(y) with q(y) = [m(y) + g b(y)] / Z, for every x, also
    one with belief zero, and is 2 eps-LDP between any two inputs. The proposal affects utility
    only.

    Everything is `(n, rows)`: symbol first, one column per stream. How a proposal is written down
    is its own affair (`operators.sip.proposals`): as two shared rows, as a few representatives per
    symbol, or as a matrix.
    """

    belief: Floats
    proposal: Proposal
    gain: float
    marginal: Floats
    largest: Floats
    mass: Floats

    @classmethod
    def repaired(
        cls, belief: Floats, proposal: Proposal, gain: float, growth: float
    ) -> "ReleaseLaw":
        """Apply the repair theorem; `gain` is g = e^eps - 1 and `growth` is e^eps."""
        marginal = proposal.marginal(belief)
        largest = proposal.largest()
        mass = np.maximum(marginal, largest - growth * marginal)
        mass = np.where(proposal.support, mass, 0.0)
        return cls(belief, proposal, gain, marginal, largest, mass)

    def probabilities(self, symbols: Integers) -> Floats:
        """Return a(y|x) over y, for the one x of each column."""
        weights = self.mass + self.gain * self.proposal.row(symbols)
        return weights / ordered_sum(weights)

    def sample(self, symbols: Integers, uniforms: Floats) -> Integers:
        """Draw y given x by inversion, in symbol order; `uniforms` are in [0, 1)."""
        weights = self.mass + self.gain * self.proposal.row(symbols)
        cumulative = np.cumsum(weights, axis=0)
        return np.asarray((cumulative <= uniforms * cumulative[-1]).sum(axis=0))

    def draw(self, symbols: Integers, words: Words) -> Integers:
        """Draw with the first 53 bits of a word."""
        return self.sample(symbols, unit_interval(words))

    def posterior(self, released: Integers) -> Floats:
        """Return P(x | y and everything released before), paper equation 13 (correction step)."""
        columns = np.arange(len(released))
        mass = self.mass[released, columns]
        ratio = (mass + self.gain * self.proposal.column(released)) / (
            mass + self.gain * self.marginal[released, columns]
        )
        return normalised(self.belief * ratio)

    def expected_releases(self) -> Floats:
        """Return q(y), the probability of every y under the belief."""
        support = self.proposal.support
        weights = np.where(support, self.mass + self.gain * self.marginal, 0.0)
        return np.asarray(weights / (self.gain + ordered_sum(self.mass)))

    def report(self, released: Integers) -> Floats:
        """Report beta(x) + [1(x = y) - q(x)] Z / g, which does not lean on beta.

        Its mean given the truth t is beta(x) + pi(x|t) - b(x), whatever led to t: that is 1(x = t)
        for every x that the proposal keeps, and moves no other symbol to. A posterior's mean is 1(x
        = t) only on average over a belief that is right.
        """
        columns = np.arange(len(released))
        total = self.gain + ordered_sum(self.mass)
        support = self.proposal.support
        surplus = np.where(support, -(self.mass + self.gain * self.marginal), 0.0) / self.gain
        surplus[released, columns] += total / self.gain
        return self.belief + surplus

    @property
    def charge(self) -> Integers:
        """Return what a release leaks in doubles, in units of 2^-40 nat."""
        return charge_of_ratio(self.leakage_ratio)

    @property
    def leakage(self) -> Floats:
        """Return what a release leaks, in nats."""
        return np.asarray(np.log(self.leakage_ratio))

    @cached_property
    def leakage_ratio(self) -> Floats:
        """Return e^leakage: the largest of a(y|x)/q(y) and q(y)/a(y|x), over all x and all y."""
        proposal, support = self.proposal, self.proposal.support
        largest = np.where(support, self.mass + self.gain * self.largest, 1.0)
        released = np.where(support, self.mass + self.gain * self.marginal, 1.0)
        smallest = np.where(support, self.mass + self.gain * proposal.smallest(), 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            upper = np.where(released > 0.0, largest / released, np.inf)
            lower = np.where(smallest > 0.0, released / smallest, np.inf)
        return np.asarray(np.maximum(upper, lower).max(axis=0))
