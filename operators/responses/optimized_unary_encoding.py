"""Optimized unary encoding."""

from dataclasses import dataclass
from functools import cached_property
from math import expm1, log1p
from typing import ClassVar, Literal

import numpy as np

from fugu.operators.columns import binding_digest
from fugu.operators.mechanism import Array, Draws, Inputs, Integers, Releases, State
from fugu.operators.randomness import integers_below
from fugu.operators.responses.randomized_response import WORDS, RandomizedResponse

Output = Literal["bits", "symbol"]


@dataclass(frozen=True, eq=False)
class OptimizedUnaryEncoding(RandomizedResponse):
    """Release a set of symbols that holds the true one half of the time (OUE).

    Claim. Every release is epsilon-LDP: no set is more than e^epsilon times as likely under one
    true symbol as under another, for any prior and any correlation. The epsilon claimed is the
    exact one of the law that is drawn (`randomized_response`). Releases of one stream add up.

    Parameters: `symbols`, n >= 2; `epsilon` in nats, 0 < epsilon <= 50; `output`: `bits`, or
    `symbol`.

    Input: symbol indices `(rows,)`, 0..n-1. Release: with `bits`, one bit per symbol `(rows, n)`,
    the true symbol's set with probability 1/2, any other with 1 / (e^epsilon + 1), up to 2^-64;
    with `symbol`, symbol indices `(rows,)`, a uniform choice among the set bits, or among all if
    none is.

    State: `spent (rows,)`.

    The choice looks at the bits alone, and so costs nothing; it also gives much of the epsilon
    away: where one symbol is wanted, GRR says more for the same. For counting, bits are better than
    GRR from 3 e^epsilon + 2 symbols on. `frequency_estimates` undoes the bias of counts of either.

    >>> oue = OptimizedUnaryEncoding(symbols=4, epsilon=1.0)
    >>> oue.reported_if_true, round(oue.reported_if_other, 3)
    (0.5, 0.269)

    Source: SIP specification, section 9 (OUE); Wang, Blocki, Li and Jha 2017.
    """

    output: Output = "bits"

    kind: ClassVar[str] = "oue"
    implementation: ClassVar[int] = 1

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        symbols = self._checked_symbols(inputs)
        words = draws.words("release", self._bound_to(symbols), count=self.symbols)[:, 0]
        is_true = symbols[:, None] == np.arange(self.symbols)
        bits = words < np.where(is_true, np.uint64(WORDS // 2), np.uint64(self.odds.each))
        released = bits if self.output == "bits" else _chosen(bits, draws)
        return self._spent_after(state), Releases(released)

    @property
    def _others(self) -> int:
        return 1

    @property
    def constant(self) -> int | Array:
        """Return no symbol at all, or the first one."""
        return np.zeros(self.symbols, dtype=bool) if self.output == "bits" else 0

    @cached_property
    def reported_if_true(self) -> float:
        """Return 1/2 with bits; as a symbol, the mean of 1 / (bits set) and 1/n, as the bit
        is or not.

        E[1 / (1 + B)] = (1 - (1-q)^n) / (n q) for the number B of n - 1 other bits that are set.
        """
        if self.output == "bits":
            return 0.5
        n, q = self.symbols, self._other_bit
        alone = -expm1(n * log1p(-q)) / (n * q)
        none = (1.0 - q) ** (n - 1)
        return 0.5 * alone + 0.5 * none / n

    @property
    def reported_if_other(self) -> float:
        """Return q with bits; as a symbol, an equal part of what the truth leaves."""
        if self.output == "bits":
            return self._other_bit
        return (1.0 - self.reported_if_true) / (self.symbols - 1)

    def law_digest(self) -> bytes:
        return binding_digest(
            self.kind, self.implementation, self.symbols, self.odds.each, self.output
        )

    @property
    def _other_bit(self) -> float:
        return self.odds.each / WORDS


def _chosen(bits: Array, draws: Draws) -> Integers:
    """Draw one symbol of each set, and of all symbols where it is empty, for this set."""
    bindings = [binding_digest(row.tobytes()) for row in np.packbits(bits, axis=1)]
    candidates = bits | ~bits.any(axis=1, keepdims=True)
    rank = np.cumsum(candidates, axis=1, dtype=np.int64)
    wanted = integers_below(draws.words("choose", bindings)[:, 0, 0], rank[:, -1])
    return np.asarray(np.argmax(rank > wanted[:, None], axis=1), dtype=np.int64)
