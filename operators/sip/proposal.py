"""What a kernel proposes: a row-stochastic pi(y|x) for every stream, from public data alone.

A kernel is utility only: `operators.sip.release_law` makes any proposal private. It asks for sums,
maxima and single rows and columns, so a proposal never has to be written out as a matrix. All
arrays are `(n, rows)`: symbol first, one column per stream.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fugu.operators.mechanism import Floats, Integers, Words
from fugu.operators.sip.integer_shares import Shares

Mask = NDArray[np.bool_]


class Proposal(Protocol):
    """A kernel pi. Where it sends every symbol to the same one, its sums are exactly 1 there."""

    @property
    def support(self) -> Mask:
        """S: no other symbol can be released."""
        ...

    def marginal(self, belief: Floats) -> Floats:
        """b(y) = sum_x beta(x) pi(y|x)."""
        ...

    def largest(self) -> Floats:
        """kappa(y) = max over all x of pi(y|x), or more."""
        ...

    def smallest(self) -> Floats:
        """min over all x of pi(y|x), or less."""
        ...

    def row(self, symbols: Integers) -> Floats:
        """pi(y|x) over y, for the one x of each column."""
        ...

    def column(self, symbols: Integers) -> Floats:
        """pi(y|x) over x, for the one y of each column."""
        ...


class SharedProposal(Proposal, Protocol):
    """A proposal that shares out words to a row for each x (`operators.sip.integer_shares`)."""

    @property
    def most_targets(self) -> int:
        """The most y that one x may go to."""
        ...

    def shares(self, total: Words) -> Shares:
        """V(y|x), of `total (rows,)` words for each x."""
        ...


class Kernel(Protocol):
    """Chooses a proposal for every belief; a pure function of the belief."""

    def propose(self, belief: Floats) -> Proposal:
        """For each column of `belief`, whichever columns are with it."""
        ...

    def identity(self) -> tuple[str | int | bytes, ...]:
        """What tells it apart in a law digest; nothing for the kernel of the default."""
        ...
