"""What a mechanism needs of a model: a belief that it can correct by a release and predict from.

A belief is a distribution over the *states* of the chain: what it remembers of a stream. A state
knows its last symbol, so a belief over states has a marginal over symbols, which is all that a
release depends on; a first-order chain remembers the symbol and nothing else. Beliefs are
`(states, rows)` and marginals `(symbols, rows)`: one column per stream.

`MarkovModel` (dense), `SparseMarkovModel` and `SecondOrderModel` are chains. All of them compute in
a fixed order, so that one row alone and in a batch has the same bits.
"""

from abc import ABC, abstractmethod
from typing import Protocol

from fugu.operators.mechanism import Floats


class Chain(Protocol):
    """Predict the next symbol in a frozen model where every symbol can follow every history."""

    @property
    def symbols(self) -> int:
        """Return n, the size of the alphabet."""

    @property
    def prior(self) -> Floats:
        """Return P(first symbol), `(symbols,)`."""

    @property
    def start(self) -> Floats:
        """Return the belief before the first release, `(states,)`."""

    def marginal(self, belief: Floats) -> Floats:
        """Return P(current symbol)."""

    def advance(self, belief: Floats, posterior: Floats) -> Floats:
        """Return the belief at the next position, after a release that made `posterior` of the
        marginal.

        What a release says depends on the current symbol only, so every state is corrected by as
        much as its symbol.
        """

    def skip(self, belief: Floats) -> Floats:
        """Return the belief at the next position, where nothing was released."""

    @property
    def forgetting_ratio(self) -> float:
        """Return R: two steps contract Hilbert's distance between beliefs to `1 - 2/(R + 1)`
        of it.

        Whatever is released meanwhile. It is infinite where no such bound is known.
        """

    @property
    def memory(self) -> float:
        """Return the most steps whose errors a belief remembers: (R + 1)/2 where each step
        contracts by the forgetting ratio R, R + 2 where two do.
        """

    @property
    def roundings(self) -> int:
        """Return by how many roundings, relatively, `marginal` and `advance` may err in one
        step.
        """

    @property
    def excess(self) -> float:
        """Return the most by which the prior or a row misses the sum 1: the exact model divides."""

    def identity(self) -> tuple[bytes, ...]:
        """Return every number of the model, for digests."""


class FirstOrder(ABC):
    """Remember the current symbol and nothing else: a belief is its own marginal."""

    prior: Floats

    @property
    def symbols(self) -> int:
        """Return n, the size of the alphabet."""
        return len(self.prior)

    @property
    def start(self) -> Floats:
        """Return the belief before the first release, which is the prior."""
        return self.prior

    def marginal(self, belief: Floats) -> Floats:
        """Return P(current symbol), which is the belief."""
        return belief

    def advance(self, belief: Floats, posterior: Floats) -> Floats:
        """Predict the next symbol from the posterior of the current one."""
        return self.skip(posterior)

    @abstractmethod
    def skip(self, belief: Floats) -> Floats:
        """Return P(next symbol) from P(current symbol), both `(n, rows)`."""

    @property
    @abstractmethod
    def forgetting_ratio(self) -> float:
        """Return the largest ratio between two entries of one column.

        By Birkhoff's theorem one prediction contracts Hilbert's projective distance between two
        beliefs to at most `1 - 2 / (ratio + 1)` of it.
        """

    @property
    def memory(self) -> float:
        """Return (R + 1)/2, since every prediction contracts."""
        return (self.forgetting_ratio + 1.0) / 2.0
