"""Propose releases: a row-stochastic pi(y|x) for every stream, made of public data alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fugu.operators.mechanism import Array, Floats, Integers, Words
from fugu.operators.sip.markov_model import ordered_sum
from fugu.operators.sip.privacy_bound import PART_DOWN


class WrittenKernel(Protocol):
    """Answer for the entries of a kernel, `(n, rows)`.

    Entries are probabilities (`Assignment`, `ExplicitKernel`) or whole words (`integer_shares`).
    Everything else is `(n, rows)`. Sums run in symbol order within a slot, slot after slot, so a
    row alone and in a batch has the same bits.
    """

    def largest(self) -> Array:
        """Return the largest entry of each y over all x, or more."""

    def smallest(self) -> Array:
        """Return the smallest entry of each y over all x, or less."""

    def row(self, symbols: Integers) -> Array:
        """Return the entries over y, for the one x of each column."""

    def column(self, released: Integers) -> Array:
        """Return the entries over x, for the one y of each column."""


@dataclass(frozen=True, eq=False)
class FewTargets(WrittenKernel):
    """Send x to `targets[slot, x]` by `weights[slot, x]`, both `(slots, n, rows)`.

    Memory is O(n) per stream. No two slots of a symbol that have weight have the same target.
    """

    targets: Integers
    weights: Array

    def expected(self, belief: Floats) -> Floats:
        """Return the sum over x of belief(x) and the entry of y."""
        total = np.zeros(belief.shape)
        for targets, weights in zip(self.targets, self.weights, strict=True):
            total = total + _added(targets, belief * weights)
        return total

    def largest(self) -> Array:
        return self._extreme(np.maximum, 0)

    def smallest(self) -> Array:
        """Return 0 unless all symbols may go to y."""
        least = self._extreme(np.minimum, self.weights.max(initial=0))
        everybody = self._senders == len(self._senders)
        return np.where(everybody, least, np.zeros_like(least))

    def row(self, symbols: Integers) -> Array:
        columns, row = np.arange(len(symbols)), self._filled(0)
        for targets, weights in zip(self.targets, self.weights, strict=True):
            row[targets[symbols, columns], columns] += weights[symbols, columns]
        return row

    def column(self, released: Integers) -> Array:
        column = self._filled(0)
        for targets, weights in zip(self.targets, self.weights, strict=True):
            column += np.where(targets == released, weights, np.zeros_like(weights))
        return column

    @cached_property
    def _senders(self) -> Floats:
        """Return how many symbols may go to each."""
        count = np.zeros(self.targets.shape[1:])
        for targets, weights in zip(self.targets, self.weights, strict=True):
            count = count + _added(targets, (weights > 0).astype(np.float64))
        return count

    def _extreme(self, extreme: Any, start: float) -> Array:
        """Return the largest or smallest weight that arrives anywhere."""
        found = self._filled(start)
        columns = np.broadcast_to(np.arange(found.shape[1]), found.shape)
        for targets, weights in zip(self.targets, self.weights, strict=True):
            sent = weights > 0
            extreme.at(found, (targets[sent], columns[sent]), weights[sent])
        return found

    def _filled(self, entry: float) -> Array:
        return np.full(self.targets.shape[1:], entry, dtype=self.weights.dtype)


@dataclass(frozen=True, eq=False)
class FullMatrix(WrittenKernel):
    """Send x to y by `matrix[x, y]`, `(n, n, rows)`."""

    matrix: Array

    def expected(self, belief: Floats) -> Floats:
        """Return the sum over x of belief(x) and the entry of y."""
        return ordered_sum(belief[:, None] * self.matrix)

    def largest(self) -> Array:
        return np.asarray(self.matrix.max(axis=0))

    def smallest(self) -> Array:
        return np.asarray(self.matrix.min(axis=0))

    def row(self, symbols: Integers) -> Array:
        return np.ascontiguousarray(self.matrix[symbols, :, np.arange(len(symbols))].T)

    def column(self, released: Integers) -> Array:
        return np.ascontiguousarray(self.matrix[:, released, np.arange(len(released))])


def _added(targets: Integers, values: Floats) -> Floats:
    """Add each value to its target, in symbol order: both `(n, rows)`."""
    symbols, rows = targets.shape
    place: Array = (targets * rows + np.arange(rows)).ravel()
    total = np.bincount(place, weights=values.ravel(), minlength=symbols * rows)
    return np.asarray(total, dtype=np.float64).reshape(symbols, rows)


class Shares(WrittenKernel, Protocol):
    """Share out words V(y|x); everything is `(n, rows)` unless said.

        V(y|x) >= 0,  sum over y of V(y|x) = G for every x

    An entry pi(y|x) becomes floor(pi(y|x) G (1 - 2^-50)) words, and the largest entry of a row
    takes what is left of G. So row sums are exact, and what was rounded is a proposal like any
    other: no claim rests on V being near G pi (`shares_law` makes any V private).

    Where x has few representatives, `FewShares` holds `(slots, n, rows)`: targets and words. Where
    a proposal is a matrix, `MatrixShares` holds `(n, n, rows)`: x first, then y. `total (rows,)` is
    G.

    >>> matrix = np.array([[0.25, 0.75], [1.0, 0.0]])[:, :, None]
    >>> MatrixShares.of(matrix, np.array([2**62], dtype=np.uint64)).matrix[:, :, 0].tolist()
    [[1152921504606845952, 3458764513820541952], [4611686018427387904, 0]]

    Source: symbol sampling specification, section 3 ("Any other proposal") and section 5.
    """

    def expected(self, belief: Floats) -> Floats:
        """Return v(y) = sum over x of belief(x) V(y|x), added in the order of x."""

    def drawn(self, symbols: Integers, words: Words) -> Integers:
        """Return the y that a word below G falls to, for the one x of each column."""


class FewShares(FewTargets, Shares):
    """Give `weights[slot, x]` words to `targets[slot, x]`."""

    @classmethod
    def of(cls, targets: Integers, weights: Floats, total: Words) -> "FewShares":
        """Share out by the weights of each x, `(slots, n, rows)`, whose sums are about 1."""
        if len(weights) == 1:
            return cls(targets, np.broadcast_to(total, weights.shape))
        return cls(targets, shared_out(weights, total))

    def drawn(self, symbols: Integers, words: Words) -> Integers:
        columns = np.arange(len(symbols))
        slot = _reached(self.weights[:, symbols, columns], words)
        return np.asarray(self.targets[slot, symbols, columns])


class MatrixShares(FullMatrix, Shares):
    """Give `matrix[x, y]` words of x to y."""

    @classmethod
    def of(cls, matrix: Floats, total: Words) -> "MatrixShares":
        """Share out by pi(y|x) as `(n, n, rows)`, x first."""
        by_target = np.ascontiguousarray(matrix.transpose(1, 0, 2))
        return cls(np.ascontiguousarray(shared_out(by_target, total).transpose(1, 0, 2)))

    def drawn(self, symbols: Integers, words: Words) -> Integers:
        return _reached(self.row(symbols), words)


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


def _reached(shares: Words, words: Words) -> Integers:
    """Return the place that the word of each column falls to."""
    sums = np.cumsum(shares, axis=0, dtype=np.uint64)
    return np.asarray(np.minimum((sums <= words).sum(axis=0), len(sums) - 1))


Mask = NDArray[np.bool_]


class Proposal(WrittenKernel, Protocol):
    """Propose releases by a kernel pi; its sums are exactly 1 where all symbols go to one."""

    @property
    def support(self) -> Mask:
        """Return S: no other symbol can be released."""

    def marginal(self, belief: Floats) -> Floats:
        """Return b(y) = sum_x beta(x) pi(y|x)."""


class SharedProposal(Proposal, Protocol):
    """Share out words to a row for each x (`operators.sip.proposals`)."""

    @property
    def most_targets(self) -> int:
        """Return the most y that one x may go to."""

    def shares(self, total: Words) -> Shares:
        """Return V(y|x), of `total (rows,)` words for each x."""


class Kernel(Protocol):
    """Choose a proposal for every belief; a pure function of the belief.

    A kernel is utility only: `operators.sip.release_law` makes any proposal private. It asks for
    sums, maxima and single rows and columns, so a proposal never has to be written out as a matrix.
    All arrays are `(n, rows)`: symbol first, one column per stream.
    """

    def propose(self, belief: Floats) -> Proposal:
        """Propose for each column of `belief`, whichever columns are with it."""

    def identity(self) -> tuple[str | int | bytes, ...]:
        """Return the fields that tell it apart in a law digest; none for the default kernel."""


@dataclass(frozen=True, eq=False)
class StayOrFill:
    """Keep x with probability `own[x]`, else move it to a symbol drawn from a shared fill row.

    It has rank two, so memory is O(n) per stream. All arrays are `(n, rows)`.

    The fill is `partial_fill` for the symbol marked in `partial`, and `fill` for every other one.
    `own` is 1 on at least two symbols, or on one while another has a `partial` of its own, or
    `constant` marks the one symbol that the column releases.
    """

    support: Mask
    own: Floats
    fill: Floats
    partial: Mask
    partial_fill: Floats
    constant: Mask

    def columns(self, columns: Integers) -> "StayOrFill":
        """Return some of its columns."""
        return StayOrFill(*(getattr(self, name)[:, columns] for name in self.__dataclass_fields__))

    def with_columns(self, columns: Integers, other: "StayOrFill") -> "StayOrFill":
        """Return itself, with the given columns replaced by those of `other`."""
        replaced = {name: getattr(self, name).copy() for name in self.__dataclass_fields__}
        for name, column in replaced.items():
            column[:, columns] = getattr(other, name)
        return StayOrFill(**replaced)

    def silenced(self, silent: Mask, constants: Integers) -> "StayOrFill":
        """Return itself with the columns that are `silent` releasing their constant alone."""
        constant = silent & (np.arange(len(self.own))[:, None] == constants)
        single = np.where(constant, 1.0, 0.0)
        return StayOrFill(
            support=np.where(silent, constant, self.support),
            own=np.where(silent, single, self.own),
            fill=np.where(silent, single, self.fill),
            partial=self.partial & ~silent,
            partial_fill=np.where(silent, 0.0, self.partial_fill),
            constant=np.where(silent, constant, self.constant),
        )

    def marginal(self, belief: Floats) -> Floats:
        """Return b(y) = sum_x beta(x) pi(y|x)."""
        moved = belief * (1.0 - self.own)
        from_partial = ordered_sum(np.where(self.partial, moved, 0.0))
        from_others = ordered_sum(np.where(self.partial, 0.0, moved))
        spread = belief * self.own + from_others * self.fill + from_partial * self.partial_fill
        return np.where(self.constant, self.own, spread)

    def largest(self) -> Floats:
        """Return kappa(y) = max over all x of pi(y|x), as if one symbol surely moved by `fill`."""
        stays = self.own + (1.0 - self.own) * np.where(self.partial, self.partial_fill, self.fill)
        moved = ordered_sum(np.where(self.partial, 1.0 - self.own, 0.0))
        return np.maximum(np.maximum(stays, self.fill), moved * self.partial_fill)

    def smallest(self) -> Floats:
        """Return 0 unless the output is constant: a symbol that stays moves nowhere."""
        return np.where(self.constant, self.own, 0.0)

    def row(self, symbols: Integers) -> Floats:
        """Return pi(y|x) over y, for the one x of each column."""
        columns = np.arange(len(symbols))
        own = self.own[symbols, columns]
        fill = np.where(self.partial[symbols, columns], self.partial_fill, self.fill)
        row = (1.0 - own) * fill
        row[symbols, columns] += own
        return row

    def column(self, released: Integers) -> Floats:
        """Return pi(y|x) over x, for the one y of each column."""
        columns = np.arange(len(released))
        into = np.where(
            self.partial, self.partial_fill[released, columns], self.fill[released, columns]
        )
        column = (1.0 - self.own) * into
        column[released, columns] += self.own[released, columns]
        return column


class ExplicitKernel(FullMatrix, SharedProposal):
    """Propose pi(y|x) as a matrix `(n, n, rows)`: x first, then y."""

    @classmethod
    def stacked(cls, matrices: Sequence[Floats], symbols: int) -> "ExplicitKernel":
        """Stack one matrix `(x, y)` for each row."""
        stacked = np.zeros((symbols, symbols, len(matrices)))
        for row, matrix in enumerate(matrices):
            stacked[:, :, row] = matrix
        return cls(stacked)

    @property
    def support(self) -> Mask:
        return np.asarray(self.largest() > 0.0)

    def marginal(self, belief: Floats) -> Floats:
        support = self.support
        alone = support & (support.sum(axis=0) == 1)
        return np.where(alone, 1.0, self.expected(belief))

    @property
    def most_targets(self) -> int:
        return len(self.matrix)

    def shares(self, total: Words) -> MatrixShares:
        return MatrixShares.of(self.matrix, total)


@dataclass(frozen=True)
class IdentityKernel(Kernel):
    """Propose every symbol for itself, pi(x|x) = 1, so that every symbol is releasable.

    For those to whom a constant output is unacceptable; poor for large alphabets. Where no belief
    is below 1/(e^eps + 1), the repair leaves it alone and the law is the paper's own. Its proposal
    does not depend on the belief at all. Source: SIP specification sections 2 and 3.6.
    """

    def propose(self, belief: Floats) -> StayOrFill:
        nothing, nobody = np.zeros_like(belief), np.zeros_like(belief, dtype=bool)
        return StayOrFill(
            support=~nobody,
            own=np.ones_like(belief),
            fill=nothing,
            partial=nobody,
            partial_fill=nothing,
            constant=np.full_like(nobody, len(belief) == 1),
        )

    def identity(self) -> tuple[str | int | bytes, ...]:
        return ("full_support", 1)
