"""Algorithms for batches, and the laws a(r|o) over whole batches that they make.

Batches are `(window, rows)`: position in the batch first, one column per stream. How an algorithm
finds its law is its own affair; each of them becomes an integer law (`SharesLaw`, `IntegerLaw`),
which alone makes it private.
"""

from typing import Protocol

import numpy as np

from fugu.operators.mechanism import Floats, Integers, Words


class BatchLaw(Protocol):
    """Release whole batches at one belief about the first symbol per column, which is public."""

    def columns(self, columns: Integers) -> "BatchLaw":
        """Return the law of some streams."""

    @property
    def cost(self) -> Floats:
        """Return the expected distance of a release, by which algorithms are compared."""

    @property
    def charge(self) -> Integers:
        """Return units of 2^-40 nat that cover the release, whatever it is: never above epsilon."""

    @property
    def leakage(self) -> Floats:
        """Return the most that the release leaks, in nats, relative to the belief as it stands."""

    def release(self, batches: Integers, words: Words) -> Integers:
        """Draw r given o, with `words (draws, rows)`."""

    def probability(self, batches: Integers, released: Integers) -> Floats:
        """Return a(r|o), for the o and the r of each column."""

    def learned(self, released: Integers) -> Floats:
        """Return P(symbol | everything released) for each position, `(window, n, rows)`."""

    def last_state(self, released: Integers, learned: Floats) -> Floats:
        """Return P(state of the chain at the last position | everything released), `(states,
        rows)`, where `learned` is known."""

    def expected(self, released: Integers) -> Floats:
        """Return the probability under the model that a symbol is released at each position, given
        everything that was released before it, also in this batch, `(window, n, rows)`."""


def share_of_truth(learned: Floats, released: Integers) -> Floats:
    """Return the mean probability over positions that the released symbol is the true one."""
    columns = np.arange(released.shape[1])
    total = np.zeros(len(columns))
    for probabilities, symbols in zip(learned, released, strict=True):
        total = total + probabilities[symbols, columns]
    return total / len(released)


class Algorithm(Protocol):
    """Make a law for every belief; a pure function of the belief."""

    @property
    def draws(self) -> int:
        """Return how many words a release takes."""

    @property
    def size(self) -> int:
        """Return roughly how many numbers one column of the law takes."""

    @property
    def roundings(self) -> int:
        """Return the relative error of P(last symbol | released), in roundings of a double."""

    def law(self, belief: Floats, distances: Floats, steps: Integers | None = None) -> BatchLaw:
        """Return the law for each column of `belief`, P(state at the first position), which is at
        most so far from the exact one (Hilbert's distance).

        `steps (window - 1, rows)` of the chain lie between positions, or one each.
        """

    def identity(self) -> tuple[str | int | bytes, ...]:
        """Return the fields that tell it apart in a law digest."""
