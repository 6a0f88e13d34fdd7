"""Generalized randomized response."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fugu.operators.columns import binding_digest
from fugu.operators.guarantee import Guarantee, ResponseLoss
from fugu.operators.mechanism import (
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
class GeneralizedRandomizedResponse(RandomizedResponse, EnumerableMechanism):
    """Release the true symbol, or by chance any other one (GRR).

    Claim. Every release is epsilon-LDP: no symbol is more than e^epsilon times as likely under one
    true symbol as under another, for any prior and any correlation. The epsilon claimed is the
    exact one of the law that is drawn (`randomized_response`). Releases of one stream add up.

    Parameters: `symbols`, n >= 2; `epsilon` in nats, 0 < epsilon <= 50.

    Input: symbol indices `(rows,)`, 0..n-1. Release: symbol indices `(rows,)`, without annotations.

    State: `spent (rows,)`.

    The truth is released with probability e^epsilon / (e^epsilon + n - 1), any other symbol with 1
    / (e^epsilon + n - 1), up to n 2^-64. `frequency_estimates` undoes the bias of counts.

    >>> from fugu.operators.single_stream import released
    >>> grr = GeneralizedRandomizedResponse(symbols=4, epsilon=1.0)
    >>> [int(release.values[0]) for release in released(grr, [0, 1, 2, 3])]
    [1, 1, 1, 3]

    Source: SIP specification, section 9 (GRR); Kairouz, Bonawitz and Ramage 2016.
    """

    kind: ClassVar[str] = "grr"
    implementation: ClassVar[int] = 1

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        symbols = self._checked_symbols(inputs)
        word = draws.words("release", self._bound_to(symbols))[:, 0, 0]
        return self._spent_after(state), Releases(self.odds.answer(symbols, word))

    def guarantees(self) -> tuple[Guarantee, ...]:
        [promised] = super().guarantees()
        return (replace(promised, loss=ResponseLoss(promised.epsilon, self.symbols)),)

    @property
    def _others(self) -> int:
        return self.symbols - 1

    @property
    def constant(self) -> int:
        return 0

    @property
    def reported_if_true(self) -> float:
        return self.odds.likely

    @property
    def reported_if_other(self) -> float:
        return self.odds.unlikely

    @property
    def outcomes(self) -> tuple[int, int]:
        return self.symbols, self.symbols

    def release_law(self, state: State) -> Floats:
        truth = np.eye(self.symbols, dtype=bool)
        law = np.where(truth, self.reported_if_true, self.reported_if_other)
        return np.tile(law, (len(state["spent"]), 1, 1))

    def follow(self, state: State, released: Integers) -> State:
        return self._spent_after(state)

    def law_digest(self) -> bytes:
        return binding_digest(self.kind, self.implementation, self.symbols, self.odds.each)
