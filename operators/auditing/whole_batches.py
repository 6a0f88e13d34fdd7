"""Batched release as a mechanism whose inputs are whole batches, so that it can be enumerated.

Position by position it cannot: what is held back is in its state, which is private.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import (
    Array,
    ChargingMechanism,
    Draws,
    EnumerableMechanism,
    Floats,
    Inputs,
    Integers,
    Releases,
    State,
)
from fugu.operators.sip.batches.batched_release import BatchedRelease


@dataclass(frozen=True, eq=False)
class WholeBatches(ChargingMechanism, EnumerableMechanism):
    """Number batches and releases in lexicographic order; a step is a batch.

    With `length`, every stream ends within its next batch, after so many symbols of it.

    >>> from fugu.operators.sip.markov_model import MarkovModel
    >>> model = MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], smoothing=0.001)
    >>> whole = WholeBatches(BatchedRelease(model, window=2, epsilon_per_batch=1.0))
    >>> law = whole.release_law(whole.start(1))
    >>> whole.outcomes, law.shape, law.sum(axis=2).round(9).tolist()
    ((4, 4), (1, 4, 4), [[1.0, 1.0, 1.0, 1.0]])
    """

    mechanism: BatchedRelease
    length: int | None = None

    @property
    def kind(self) -> str:
        return self.mechanism.kind

    @property
    def implementation(self) -> int:
        return self.mechanism.implementation

    @property
    def symbols(self) -> int:
        """Return how many symbols a batch has."""
        return self.length or self.mechanism.window

    @property
    def outcomes(self) -> tuple[int, int]:
        batches = self.mechanism.model.symbols**self.symbols
        return batches, batches

    def start(self, rows: int) -> State:
        return self.mechanism.start(rows)

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        for symbols in self._digits[:, inputs.values]:
            state, releases = self.mechanism.step(state, Inputs(symbols), draws)
        if self.length is not None:
            state, releases = self.mechanism.finish(state, draws)
        values = self._numbers(releases.values[:, : self.symbols])
        return state, Releases(values, releases.annotations, releases.kinds)

    def release_law(self, state: State) -> Floats:
        rows, batches = len(state["belief"]), self.outcomes[0]
        given, released = np.indices((batches, batches)).reshape(2, -1)
        law = np.empty((rows, batches, batches))
        for part in self.mechanism.laws(state, self.symbols):
            for place, row in enumerate(part.rows.tolist()):
                its = part.law.columns(np.full(len(given), place))
                probability = its.probability(self._digits[:, given], self._digits[:, released])
                law[row] = probability.reshape(batches, batches)
        return law

    def follow(self, state: State, released: Integers) -> State:
        filled = np.full((len(released), self.mechanism.window), -1, dtype=np.int64)
        filled[:, : self.symbols] = self._digits[:, released].T
        return self.mechanism.observe(state, filled)[0]

    def next_charge(self, state: State) -> Integers:
        return self.mechanism.next_charge(state)

    def skip(self, state: State, instead: Array) -> tuple[State, Releases]:
        """Predict past the first symbol, and past the others."""
        skipped = state
        for _ in range(self.symbols):
            skipped, releases = self.mechanism.skip(skipped, instead)
        return skipped, releases

    @property
    def largest_charge(self) -> int:
        return self.mechanism.largest_charge

    @property
    def constant(self) -> int:
        """Return the number of the most likely batch."""
        return int(self._numbers(self.mechanism.constant[None, : self.symbols])[0])

    @property
    def draws(self) -> int:
        """Return how many words a batch takes."""
        return self.mechanism.draws(self.symbols)

    def guarantees(self) -> tuple[Guarantee, ...]:
        return self.mechanism.guarantees()

    def audit(self) -> Mapping[str, object]:
        return self.mechanism.audit()

    def law_digest(self) -> bytes:
        return self.mechanism.law_digest()

    @cached_property
    def _digits(self) -> Integers:
        shape = (self.mechanism.model.symbols,) * self.symbols
        return np.indices(shape).reshape(self.symbols, -1)

    def _numbers(self, batches: Array) -> Integers:
        symbols = (self.mechanism.model.symbols,) * self.symbols
        return np.asarray(np.ravel_multi_index(tuple(batches.T), symbols))
