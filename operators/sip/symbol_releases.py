"""Releases of one symbol at a time, by a law that depends on a belief."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fugu.operators.byte_column import Bytes
from fugu.operators.mechanism import (
    Array,
    ChargingRunningMechanism,
    Draws,
    Floats,
    Inputs,
    Integers,
    Releases,
    Run,
    State,
)
from fugu.operators.multi_step import run_in_rounds
from fugu.operators.randomness import KeyedDraws
from fugu.operators.release_digest import extended
from fugu.operators.sip.belief_radius import Radius
from fugu.operators.sip.chain import Chain
from fugu.operators.sip.symbol_inputs import checked_belief, checked_symbols, digest_table

if TYPE_CHECKING:
    from fugu.operators.sip.compiled_adaptive_release import CompiledAdaptiveStep
    from fugu.operators.sip.compiled_conditional_randomized_response import CompiledStep


class SymbolReleases(ChargingRunningMechanism, ABC):
    """Release by a law at a belief: a chain predicts it, and releases alone correct it."""

    model: Chain

    extra_roundings: ClassVar[int] = 0
    """Roundings of one step besides those of the chain."""

    @cached_property
    def radius(self) -> Radius:
        """Return how far beliefs may be from the exact ones."""
        roundings = self.model.roundings + self.extra_roundings
        return Radius.of(roundings, self.model.excess, self.model.memory)

    @cached_property
    def doubts(self) -> Floats:
        """Return what laws pay for that, by the bit length of the number of predictions."""
        return self.radius.doubts(self.model.symbols)

    def _doubt(self, state: State) -> Floats:
        """Return what the law of each row pays."""
        return self.radius.doubt(state, self.doubts)

    @property
    @abstractmethod
    def _compiled(self) -> "CompiledStep | CompiledAdaptiveStep | None":
        """Return compiled code for several positions in one call, where there is any."""

    @abstractmethod
    def observe(self, state: State, released: Integers) -> tuple[State, Floats]:
        """Return P(truth | releases so far), `(rows, n)`, after one release per row."""

    @property
    def runs(self) -> bool:
        return self._compiled is not None

    def run(
        self, state: State, rows: Integers, inputs: Inputs, draws: Draws, total: int | None = None
    ) -> Run:
        """Run one position after the other, compiled; in rounds for draws of another kind."""
        if self._compiled is None or type(draws) is not KeyedDraws:
            return run_in_rounds(self, state, rows, inputs, draws, total)
        symbols = checked_symbols(inputs, self.model.symbols)
        return self._compiled.run(state, rows, symbols, draws, total)

    def follow(self, state: State, released: Integers) -> State:
        """Belief and ledger depend on releases alone."""
        return self.observe(state, released)[0]

    def skip(self, state: State, instead: Array) -> tuple[State, Releases]:
        """Predict only; the confidence of `instead` is its probability given earlier releases."""
        belief = checked_belief(state["belief"])
        after = {
            **state,
            "belief": np.ascontiguousarray(self.model.skip(belief).T),
            **self.radius.after(state),
            "history": extended(state["history"], np.zeros(len(instead), dtype=np.int64)),
        }
        confidence = self.model.marginal(belief)[instead, np.arange(len(instead))]
        return after, Releases(instead, {"confidence": confidence})

    @cached_property
    def _bindings(self) -> Bytes:
        return digest_table(range(self.model.symbols))
