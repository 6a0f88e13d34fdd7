"""Proposals of releases: a row-stochastic pi(y|x) for every stream, from public data alone.

A kernel is utility only: `operators.sip.release_law` makes any proposal private. It asks for sums,
maxima and single rows and columns, so a proposal never has to be written out as a matrix. All
arrays are `(n, rows)`: symbol first, one column per stream.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fugu.operators.mechanism import Floats, Words
from fugu.operators.sip.integer_shares import Shares
from fugu.operators.sip.written_kernels import WrittenKernel

Mask = NDArray[np.bool_]


class Proposal(WrittenKernel, Protocol):
    """Propose releases by a kernel pi; its sums are exactly 1 where all symbols go to one."""

    @property
    def support(self) -> Mask:
        """Return S: no other symbol can be released."""

    def marginal(self, belief: Floats) -> Floats:
        """Return b(y) = sum_x beta(x) pi(y|x)."""


class SharedProposal(Proposal, Protocol):
    """Share out words to a row for each x (`operators.sip.integer_shares`)."""

    @property
    def most_targets(self) -> int:
        """Return the most y that one x may go to."""

    def shares(self, total: Words) -> Shares:
        """Return V(y|x), of `total (rows,)` words for each x."""


class Kernel(Protocol):
    """Choose a proposal for every belief; a pure function of the belief."""

    def propose(self, belief: Floats) -> Proposal:
        """Propose for each column of `belief`, whichever columns are with it."""

    def identity(self) -> tuple[str | int | bytes, ...]:
        """Return the fields that tell it apart in a law digest; none for the default kernel."""
