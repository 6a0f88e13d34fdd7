"""Models of streams: a belief that a release corrects, and that predicts the next symbol.

A belief is a distribution over the *states* of the chain: what it remembers of a stream. A state
knows its last symbol, so a belief over states has a marginal over symbols, which is all that a
release depends on; a first-order chain remembers the symbol and nothing else. Beliefs are `(states,
rows)` and marginals `(symbols, rows)`: one column per stream.

`MarkovModel` (dense), `SparseMarkovModel` and `SecondOrderModel` are chains. All of them compute in
a fixed order, so that one row alone and in a batch has the same bits.
"""

from abc import ABC, abstractmethod

import numpy as np

from fugu.operators.mechanism import Floats, Integers


class Chain(ABC):
    """Predict the next symbol in a frozen model where every symbol can follow every history."""

    prior: Floats
    """P(first symbol), `(symbols,)`."""

    @property
    def symbols(self) -> int:
        """Return n, the size of the alphabet."""
        return len(self.prior)

    @property
    @abstractmethod
    def start(self) -> Floats:
        """Return the belief before the first release, `(states,)`."""

    @abstractmethod
    def marginal(self, belief: Floats) -> Floats:
        """Return P(current symbol)."""

    @property
    @abstractmethod
    def symbol_of_state(self) -> Integers:
        """Return the last symbol of each state."""

    @abstractmethod
    def correct(self, belief: Floats, posterior: Floats) -> Floats:
        """Return the belief at this position, after a release that made `posterior` of the
        marginal.

        What a release says depends on the current symbol only, so every state is corrected by as
        much as its symbol.
        """

    def advance(self, belief: Floats, posterior: Floats) -> Floats:
        """Return the belief at the next position, after such a release."""
        return self.skip(self.correct(belief, posterior))

    @abstractmethod
    def move(self, masses: Floats) -> Floats:
        """Return where masses of states are one step later, not normalised."""

    @abstractmethod
    def mean_after(self, values: Floats) -> Floats:
        """Return, for each state, the mean of `values (states, rows)` over the state that comes
        next."""

    @abstractmethod
    def skip(self, belief: Floats) -> Floats:
        """Return the belief at the next position, where nothing was released."""

    @property
    @abstractmethod
    def forgetting_ratio(self) -> float:
        """Return R: two steps contract Hilbert's distance between beliefs to `1 - 2/(R + 1)`
        of it.

        Whatever is released meanwhile. It is infinite where no such bound is known.
        """

    @property
    @abstractmethod
    def memory(self) -> float:
        """Return the most steps whose errors a belief remembers: (R + 1)/2 where each step
        contracts by the forgetting ratio R, R + 2 where two do."""

    @property
    @abstractmethod
    def roundings(self) -> int:
        """Return the relative error of `marginal` and `advance` in one step, in roundings."""

    @property
    @abstractmethod
    def excess(self) -> float:
        """Return the most by which the prior or a row misses the sum 1: the exact model divides."""

    @abstractmethod
    def identity(self) -> tuple[bytes, ...]:
        """Return every number of the model, for digests."""


class FirstOrder(Chain):
    """Remember the current symbol and nothing else: a belief is its own marginal.

    By Birkhoff's theorem one prediction contracts Hilbert's projective distance between two beliefs
    to at most `1 - 2 / (R + 1)` of it, where R, the forgetting ratio, is the largest ratio between
    two entries of one column.
    """

    @property
    def start(self) -> Floats:
        return self.prior

    @property
    def symbol_of_state(self) -> Integers:
        return np.arange(self.symbols)

    def marginal(self, belief: Floats) -> Floats:
        return belief

    def correct(self, belief: Floats, posterior: Floats) -> Floats:
        return posterior

    @property
    def memory(self) -> float:
        return (self.forgetting_ratio + 1.0) / 2.0
