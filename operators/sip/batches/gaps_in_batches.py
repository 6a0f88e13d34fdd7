"""Gaps in event time between and within batches."""

from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Integers, State
from fugu.operators.release_digest import extended
from fugu.operators.sip.belief_radius import Radius
from fugu.operators.sip.chain import Chain
from fugu.operators.sip.gaps import TICK, Gaps, predicted

STEPS = "steps"
"""The column of the steps between positions of a batch, `(rows, window - 1)`."""
_APART = 32
"""More than the positions of a batch, of which each has a code of its own."""


@dataclass(frozen=True, eq=False)
class GapsInBatches:
    """Count the steps of a chain before each record of batches of `window` positions.

    Before the first position of a batch they are predictions, as for single releases (`gaps`).
    Before a later one the belief stays where it is, at the first, and the number of steps waits for
    the law of the batch. What is released depends on every gap, so the history that draws are
    bound to does: each has a code for its length and its position in the batch.
    """

    gaps: Gaps
    model: Chain
    radius: Radius
    window: int

    def start(self, rows: int) -> State:
        """Return the columns of streams without a record."""
        return {**self.gaps.start(rows), STEPS: np.ones((rows, self.window - 1), dtype=np.int64)}

    def without_steps(self, state: State) -> State:
        """Return the columns where a batch begins."""
        return {STEPS: np.ones_like(state[STEPS])}

    def steps_past(self, state: State) -> Integers:
        """Return how many steps of the chain lie between the first position of the batch and the
        one after those that came."""
        count = np.arange(self.window - 1) < state["held"][:, None]
        return np.asarray(1 + np.where(count, state[STEPS], 0).sum(axis=1))

    def elapse(self, state: State, ticks: Integers) -> State:
        """Bring every row to the tick of its next record; `state` is not modified."""
        missed, held = self.gaps.missed(state[TICK], ticks), state["held"]
        after = {**state, TICK: np.maximum(state[TICK], ticks)}
        if not missed.any():
            return after
        between = np.where(held == 0, missed, 0)
        if between.any():
            after |= predicted(self.model, self.radius, state, between)
        inside = np.flatnonzero((held > 0) & (missed > 0))
        after[STEPS] = state[STEPS].copy()
        after[STEPS][inside, held[inside] - 1] += missed[inside]
        code = extended(state["history"], -(1 + missed) * _APART - held)
        after["history"] = np.where(missed > 0, code, state["history"])
        return after
