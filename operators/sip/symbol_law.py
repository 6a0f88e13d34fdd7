"""What a mechanism needs of a release law, however it is made; one column per stream."""

from typing import Protocol

from fugu.operators.mechanism import Floats, Integers, Words


class SymbolLaw(Protocol):
    """Release symbols by a law a(y|x) at public beliefs, however it is made."""

    @property
    def belief(self) -> Floats:
        """Return what it was made for."""
        ...

    def probabilities(self, symbols: Integers) -> Floats:
        """Return a(y|x) over y, for the one x of each column."""
        ...

    def draw(self, symbols: Integers, words: Words) -> Integers:
        """Release what the word of each column says, for its x."""
        ...

    def posterior(self, released: Integers) -> Floats:
        """Return P(x | y and everything released before)."""
        ...

    def report(self, released: Integers) -> Floats:
        """Return what a release says of each x, not leaning on the belief."""
        ...

    @property
    def charge(self) -> Integers:
        """Return what a release costs, in units of 2^-40 nat."""
        ...

    @property
    def leakage(self) -> Floats:
        """Return what a release leaks, in nats, for people."""
        ...
