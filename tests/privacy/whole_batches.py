"""Batched release as a mechanism whose inputs are whole batches, so that it can be enumerated.

Position by position it cannot: what is held back is in its state, which is private.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from fugu.operators.mechanism import (
    Array,
    Draws,
    Floats,
    Guarantee,
    Inputs,
    Integers,
    Kind,
    Releases,
    State,
)
from fugu.operators.sip.batches.batched_release import BatchedRelease


@dataclass(frozen=True, eq=False)
class WholeBatches:
    """Batches and releases are numbered in lexicographic order; a step is a batch."""

    mechanism: BatchedRelease
    kind: str = field(default="whole batches", init=False)
    implementation: int = field(default=1, init=False)

    @property
    def outcomes(self) -> tuple[int, int]:
        return self.digits.shape[1], self.digits.shape[1]

    @cached_property
    def digits(self) -> Integers:
        shape = (self.mechanism.model.symbols,) * self.mechanism.window
        return np.indices(shape).reshape(self.mechanism.window, -1)

    def start(self, rows: int) -> State:
        return self.mechanism.start(rows)

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        for symbols in self.digits[:, inputs.values]:
            state, releases = self.mechanism.step(state, Inputs(symbols), draws)
        assert releases.kinds is not None
        assert (releases.kinds == Kind.FRESH).all()
        return state, Releases(self._numbers(releases.values), releases.annotations)

    def release_law(self, state: State) -> Floats:
        rows, batches = len(state["belief"]), self.digits.shape[1]
        row, given, released = np.indices((rows, batches, batches)).reshape(3, -1)
        law = np.empty(len(row))
        belief = np.ascontiguousarray(state["belief"][row].T)
        for part in self.mechanism._plan.parts(belief, self.mechanism._distances(state)[row]):
            law[part.rows] = part.law.probability(
                self.digits[:, given[part.rows]], self.digits[:, released[part.rows]]
            )
        return law.reshape(rows, batches, batches)

    def follow(self, state: State, released: Integers) -> State:
        return self.mechanism.observe(state, self.digits[:, released].T)[0]

    def guarantees(self) -> tuple[Guarantee, ...]:
        return self.mechanism.guarantees()

    def audit(self) -> Mapping[str, Any]:
        return self.mechanism.audit()

    def law_digest(self) -> bytes:
        return self.mechanism.law_digest()

    def _numbers(self, batches: Array) -> Integers:
        symbols = (self.mechanism.model.symbols,) * self.mechanism.window
        return np.asarray(np.ravel_multi_index(tuple(batches.T), symbols))
