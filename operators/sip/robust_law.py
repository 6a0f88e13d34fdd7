"""A release law that is private for every belief of an envelope."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Floats
from fugu.operators.sip.belief_envelope import BeliefEnvelope
from fugu.operators.sip.explicit_kernel import ExplicitKernel
from fugu.operators.sip.integer_shares import MatrixShares
from fugu.operators.sip.markov_model import ordered_sum
from fugu.operators.sip.privacy_bound import WORDS, PrivacyBound
from fugu.operators.sip.proposal import Mask, Proposal
from fugu.operators.sip.shares_law import ExactMeans, SharesLaw
from fugu.operators.sip.written_kernels import FullMatrix, WrittenKernel

_TIE = 1e-12
"""Costs that differ by less are equal: the earlier proposal stays."""


@dataclass(frozen=True, eq=False)
class EnvelopeMeans(ExactMeans):
    """Bound means under every belief of an envelope; kernels are written out as matrices."""

    envelope: BeliefEnvelope

    def means(self, kernel: WrittenKernel, mean: Floats) -> tuple[Floats, Floats]:
        assert isinstance(kernel, FullMatrix)
        return self.envelope.means(kernel.matrix)


def robust_law(
    belief: Floats,
    envelope: BeliefEnvelope,
    proposals: Sequence[ExplicitKernel],
    table: Floats,
    bound: PrivacyBound,
) -> SharesLaw:
    """Return the law of the proposal that costs least once it is private for the envelope.

    Costs are distances `table (n, n)` to be expected under `belief`, which is one of the envelope.
    What is private is so whichever proposal is taken; which one is a function of public data.
    """
    means, certain = EnvelopeMeans(envelope), np.ones(belief.shape[1], dtype=bool)
    law = SharesLaw.between(belief, proposals[0], bound, certain, means)
    cost = expected_cost(law, table)
    for proposal in proposals[1:]:
        other = SharesLaw.between(belief, proposal, bound, certain, means)
        other_cost = expected_cost(other, table)
        better = other_cost < cost - _TIE
        law, cost = _either(better, other, law), np.where(better, other_cost, cost)
    return law


def _either(better: Mask, this: SharesLaw, that: SharesLaw) -> SharesLaw:
    """Return the columns of `this` law where it is `better`, and of `that` one elsewhere.

    Both are of the same beliefs, and their shares are written out.
    """
    ours, theirs = this.shares, that.shares
    assert isinstance(ours, MatrixShares)
    assert isinstance(theirs, MatrixShares)
    return SharesLaw(
        this.belief,
        this.bound,
        MatrixShares(np.where(better, ours.matrix, theirs.matrix)),
        np.where(better, this.support, that.support),
        np.where(better, this.total, that.total),
        np.where(better, this.common, that.common),
        np.where(better, this.expected, that.expected),
        np.where(better, this.top, that.top),
        np.where(better, this.constant, that.constant),
        np.where(better, this.ratio, that.ratio),
    )


def expected_cost(law: SharesLaw, table: Floats) -> Floats:
    """Return the distance of a release from the truth that is to be expected, per column."""
    matrix = law.shares
    assert isinstance(matrix, FullMatrix)
    weighted = law.belief[:, None] * table[:, :, None]
    anywhere = ordered_sum(weighted)
    always = anywhere[law.top, np.arange(len(law.top))]
    moved = ordered_sum(ordered_sum(weighted * matrix.matrix))
    spread = ordered_sum(anywhere * law.common)
    return np.where(law.constant, always, (moved + spread) / WORDS)


def written_out(proposal: Proposal, belief: Floats) -> ExplicitKernel:
    """Return a proposal as a matrix."""
    n, rows = belief.shape
    each = [proposal.row(np.full(rows, symbol)) for symbol in range(n)]
    return ExplicitKernel(np.stack(each))


def to_itself(belief: Floats) -> ExplicitKernel:
    """Propose each symbol for itself."""
    n, rows = belief.shape
    return ExplicitKernel(np.repeat(np.eye(n)[:, :, None], rows, axis=2))


def to_likeliest(belief: Floats, table: Floats) -> ExplicitKernel:
    """Propose, for every symbol, the one that is nearest to the truth on average."""
    expected = ordered_sum(belief[:, None] * table[:, :, None])
    nearest = np.arange(len(belief))[:, None] == expected.argmin(axis=0)
    return ExplicitKernel(np.repeat(nearest[None].astype(np.float64), len(belief), axis=0))
