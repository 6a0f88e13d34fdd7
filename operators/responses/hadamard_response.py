"""Hadamard response: one sign of a public matrix (LRM with orthogonal columns)."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from fugu.operators.columns import binding_digest
from fugu.operators.mechanism import (
    Array,
    Draws,
    EnumerableMechanism,
    Floats,
    Inputs,
    Integers,
    Releases,
    State,
)
from fugu.operators.responses.randomized_response import RandomizedResponse


@dataclass(frozen=True, eq=False)
class HadamardResponse(RandomizedResponse, EnumerableMechanism):
    """Release a random row of a public matrix, and in it the sign of the true symbol, or its
    opposite (LRM).

    Row r of the Hadamard matrix has the sign (-1)^(number of ones that r and v have in common, in
    binary) at symbol v. A release names a row, and by its sign one half of all symbols: those that
    have this sign there.

    Claim. Every release is epsilon-LDP: no row and sign are more than e^epsilon times as likely
    under one true symbol as under another, for any prior and any correlation. The row says nothing,
    and the sign is a randomized response; the epsilon claimed is the exact one of the law that is
    drawn. Releases of one stream add up.

    Parameters: `symbols`, n >= 2; `epsilon` in nats, 0 < epsilon <= 50.

    Input: symbol indices `(rows,)`, 0..n-1. Release: the half as one bit per symbol `(rows, n)`.
    The true symbol is in it with probability e^epsilon / (e^epsilon + 1), any other one with
    probability 1/2 exactly, because two columns of the matrix agree in half of its rows: so
    `frequency_estimates` is unbiased, with the variance ((e^epsilon + 1) / (e^epsilon - 1))^2 minus
    the share itself, over the number of releases, whatever the size of the alphabet. A release is
    as short as a number and a sign (`coded`).

    State: `spent (rows,)`. In audits release 2 r + 1 is row r with the sign +1, 2 r with -1.

    >>> hadamard = HadamardResponse(symbols=5, epsilon=1.0)
    >>> hadamard.matrix_rows, hadamard.reported_if_other
    (8, 0.5)
    >>> half = hadamard.decoded(np.array([3]), np.array([1]))
    >>> half.astype(int).tolist(), [part.tolist() for part in hadamard.coded(half)]
    ([[1, 0, 0, 1, 1]], [[3], [1]])

    Source: PBA specification, section 4 (LRM; Chen et al. 2016, with the columns of a Hadamard
    matrix in place of random ones, which are biased).
    """

    kind: ClassVar[str] = "lrm"
    implementation: ClassVar[int] = 1

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        symbols = self._checked_symbols(inputs)
        bindings = self._bound_to(symbols)
        row_words = draws.words("row", bindings)[:, 0, 0]
        rows = (row_words >> np.uint64(64 - self._row_bits)).astype(np.int64)
        true_sign = _even(rows & symbols).astype(np.int64)
        sign = self.odds.answer(true_sign, draws.words("release", bindings)[:, 0, 0])
        return self._spent_after(state), Releases(self.decoded(rows, sign))

    @property
    def matrix_rows(self) -> int:
        """Return the number of rows of the matrix: the power of 2 that is at least n."""
        return 1 << self._row_bits

    def decoded(self, rows: Integers, signs: Integers) -> Array:
        """Return the half of the symbols that these rows and signs (1 or 0) name."""
        return np.asarray(_even(rows[:, None] & np.arange(self.symbols)) == (signs[:, None] > 0))

    def coded(self, halves: Array) -> tuple[Integers, Integers]:
        """Return the rows and signs (1 or 0) that name these halves."""
        signs = halves[:, 0].astype(np.int64)
        powers = 1 << np.arange(self._row_bits)
        return (halves[:, powers] != halves[:, :1]).astype(np.int64) @ powers, signs

    @property
    def _others(self) -> int:
        return 1

    @property
    def constant(self) -> Array:
        """Return all symbols: row 0 with the sign +1."""
        return np.ones(self.symbols, dtype=bool)

    @property
    def reported_if_true(self) -> float:
        return self.odds.likely

    @property
    def reported_if_other(self) -> float:
        return 0.5

    @property
    def outcomes(self) -> tuple[int, int]:
        return self.symbols, 2 * self.matrix_rows

    def outcome_of(self, releases: Releases) -> Integers:
        """Return 2 r + 1 or 2 r for row r, by its sign."""
        rows, signs = self.coded(releases.values)
        return 2 * rows + signs

    def published(self, outcomes: Integers) -> Releases:
        """Return the halves with these numbers."""
        return Releases(self.decoded(*np.divmod(outcomes, 2)))

    def release_law(self, state: State) -> Floats:
        rows = np.repeat(np.arange(self.matrix_rows), 2)
        signs = np.tile(np.arange(2), self.matrix_rows)
        holds = self.decoded(rows, signs).T
        law = np.where(holds, self.odds.likely, self.odds.unlikely) / self.matrix_rows
        return np.tile(law, (len(state["spent"]), 1, 1))

    def follow(self, state: State, released: Integers) -> State:
        return self._spent_after(state)

    def law_digest(self) -> bytes:
        return binding_digest(self.kind, self.implementation, self.symbols, self.odds.each)

    @cached_property
    def _row_bits(self) -> int:
        return max(1, (self.symbols - 1).bit_length())


def _even(numbers: Integers) -> Array:
    """Return whether an even number of bits of each is set."""
    folded = numbers.copy()
    for shift in (32, 16, 8, 4, 2, 1):
        folded ^= folded >> shift
    return np.asarray(folded & 1 == 0)
