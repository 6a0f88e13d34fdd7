"""Proposals as integers: each x shares out G words of 64 bits among its representatives.

    V(y|x) >= 0,  sum over y of V(y|x) = G for every x

An entry pi(y|x) becomes floor(pi(y|x) G (1 - 2^-50)) words, and the largest entry of a row takes
what is left of G. So row sums are exact, and what was rounded is a proposal like any other: no
claim rests on V being near G pi (`shares_law` makes any V private).

Where x has few representatives, `FewShares` holds `(slots, n, rows)`: targets and words. Where a
proposal is a matrix, `MatrixShares` holds `(n, n, rows)`: x first, then y. `total (rows,)` is G.

Source: symbol sampling specification, section 3 ("Any other proposal") and section 5.

>>> matrix = np.array([[0.25, 0.75], [1.0, 0.0]])[:, :, None]
>>> MatrixShares.of(matrix, np.array([2**62], dtype=np.uint64)).words[:, :, 0].tolist()
[[1152921504606845952, 3458764513820541952], [4611686018427387904, 0]]
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fugu.operators.mechanism import Array, Floats, Integers, Words
from fugu.operators.sip.markov_model import ordered_sum
from fugu.operators.sip.privacy_bound import PART_DOWN


class Shares(Protocol):
    """Share out words V(y|x); everything is `(n, rows)` unless said."""

    def expected(self, belief: Floats) -> Floats:
        """Return v(y) = sum over x of belief(x) V(y|x), added in the order of x."""

    def largest(self) -> Words:
        """Return max over all x of V(y|x)."""

    def smallest(self) -> Words:
        """Return min over all x of V(y|x)."""

    def row(self, symbols: Integers) -> Words:
        """Return V(y|x) over y, for the one x of each column."""

    def column(self, released: Integers) -> Words:
        """Return V(y|x) over x, for the one y of each column."""

    def drawn(self, symbols: Integers, words: Words) -> Integers:
        """Return the y that a word below G falls to, for the one x of each column."""


@dataclass(frozen=True, eq=False)
class FewShares(Shares):
    """Give `words[slot, x]` to `targets[slot, x]`; no two slots with words have one target."""

    targets: Integers
    words: Words

    @classmethod
    def of(cls, targets: Integers, weights: Floats, total: Words) -> "FewShares":
        """Share out by the weights of each x, `(slots, n, rows)`, whose sums are about 1."""
        if len(weights) == 1:
            return cls(targets, np.broadcast_to(total, weights.shape))
        return cls(targets, shared_out(weights, total))

    def expected(self, belief: Floats) -> Floats:
        total = np.zeros(belief.shape)
        for targets, words in zip(self.targets, self.words, strict=True):
            total = total + added(targets, belief * words)
        return total

    def largest(self) -> Words:
        most = np.zeros(self.targets.shape[1:], dtype=np.uint64)
        columns = self._columns
        for targets, words in zip(self.targets, self.words, strict=True):
            np.maximum.at(most, (targets, columns), words)
        return most

    def smallest(self) -> Words:
        least = np.full(self.targets.shape[1:], 2**64 - 1, dtype=np.uint64)
        senders = np.zeros(least.shape)
        for targets, words in zip(self.targets, self.words, strict=True):
            sent = words > 0
            np.minimum.at(least, (targets[sent], self._columns[sent]), words[sent])
            senders = senders + added(targets, sent.astype(np.float64))
        return np.where(senders == len(least), least, np.uint64(0))

    def row(self, symbols: Integers) -> Words:
        columns = np.arange(len(symbols))
        row = np.zeros(self.targets.shape[1:], dtype=np.uint64)
        for targets, words in zip(self.targets, self.words, strict=True):
            row[targets[symbols, columns], columns] += words[symbols, columns]
        return row

    def column(self, released: Integers) -> Words:
        column = np.zeros(self.targets.shape[1:], dtype=np.uint64)
        for targets, words in zip(self.targets, self.words, strict=True):
            column += np.where(targets == released, words, np.uint64(0))
        return column

    def drawn(self, symbols: Integers, words: Words) -> Integers:
        columns = np.arange(len(symbols))
        reached = np.cumsum(self.words[:, symbols, columns], axis=0, dtype=np.uint64)
        slot = np.minimum((reached <= words).sum(axis=0), len(reached) - 1)
        drawn: Integers = self.targets[slot, symbols, columns]
        return drawn

    @property
    def _columns(self) -> Integers:
        return np.broadcast_to(np.arange(self.targets.shape[2]), self.targets.shape[1:])


@dataclass(frozen=True, eq=False)
class MatrixShares(Shares):
    """Give `words[x, y]` of x to y."""

    words: Words

    @classmethod
    def of(cls, matrix: Floats, total: Words) -> "MatrixShares":
        """Share out by pi(y|x) as `(n, n, rows)`, x first."""
        by_target = np.ascontiguousarray(matrix.transpose(1, 0, 2))
        return cls(np.ascontiguousarray(shared_out(by_target, total).transpose(1, 0, 2)))

    def expected(self, belief: Floats) -> Floats:
        return ordered_sum(belief[:, None] * self.words)

    def largest(self) -> Words:
        return np.asarray(self.words.max(axis=0))

    def smallest(self) -> Words:
        return np.asarray(self.words.min(axis=0))

    def row(self, symbols: Integers) -> Words:
        return np.ascontiguousarray(self.words[symbols, :, np.arange(len(symbols))].T)

    def column(self, released: Integers) -> Words:
        return np.ascontiguousarray(self.words[:, released, np.arange(len(released))])

    def drawn(self, symbols: Integers, words: Words) -> Integers:
        reached = np.cumsum(self.row(symbols), axis=0, dtype=np.uint64)
        drawn: Integers = np.minimum((reached <= words).sum(axis=0), len(reached) - 1)
        return drawn


def shared_out(weights: Floats, total: Words) -> Words:
    """Share out all of `total` words among places, by weights `(places, n, rows)`.

    The place of the largest weight, the first of equals, takes what the others leave.
    """
    top = np.argmax(weights, axis=0)
    left = np.broadcast_to(total, weights.shape[1:]).copy()
    words = np.empty(weights.shape, dtype=np.uint64)
    for place, weight in enumerate(weights):
        share = np.floor(weight * total * PART_DOWN).astype(np.uint64)
        share = np.where(top == place, np.uint64(0), np.minimum(share, left))
        words[place] = share
        left -= share
    np.put_along_axis(words, top[None], left[None], axis=0)
    return words


def added(targets: Integers, values: Floats) -> Floats:
    """Add each value to its target, in symbol order: both `(n, rows)`."""
    symbols, rows = targets.shape
    place: Array = (targets * rows + np.arange(rows)).ravel()
    total = np.bincount(place, weights=values.ravel(), minlength=symbols * rows)
    return np.asarray(total, dtype=np.float64).reshape(symbols, rows)
