"""The columns in which a budget counts what streams have spent."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.operators.mechanism import AT_THE_END, Integers, State

EXHAUSTED = "budget_exhausted"
LAST = "budget_last"
WINDOW = "budget_window"
_NOTHING = -1


@dataclass(frozen=True)
class BudgetLedger:
    """Count charges against `total` units over a stream's life, or over `window` positions."""

    total: int
    window: int | None

    def start(self, rows: int) -> State:
        """Return the columns of streams that have spent nothing."""
        if self.window is None:
            return {EXHAUSTED: np.zeros(rows, dtype=bool)}
        return {WINDOW: np.zeros((rows, self.window - 1), dtype=np.int64)}

    def room(self, state: State) -> Integers:
        """Return the units that each row may still spend; below 0 where nothing can be paid."""
        if self.window is not None:
            return np.asarray(self.total - state[WINDOW].sum(axis=1, dtype=np.int64))
        return np.where(state[EXHAUSTED], _NOTHING, self.total - state["spent"])

    def after(self, state: State, charge: Integers, paid: NDArray[np.bool_]) -> State:
        """Return the columns one position later; a row that was not `paid` for is exhausted."""
        if self.window is None:
            return {EXHAUSTED: ~paid}
        window = np.concatenate([state[WINDOW], charge[:, None]], axis=1)
        return {WINDOW: np.ascontiguousarray(window[:, 1:])}

    def with_more(self, state: State, charge: Integers) -> State:
        """Return the columns with more charges at the last position."""
        if self.window is None:
            return {}
        window = state[WINDOW].copy()
        window[:, -1:] += charge[:, None]
        return {WINDOW: window}

    def exhausted(self, state: State) -> NDArray[np.bool_]:
        """Return which rows could not pay once; with a window none is exhausted for good."""
        if self.window is not None:
            return np.zeros(len(state["spent"]), dtype=bool)
        return state[EXHAUSTED]

    def level(self, state: State) -> Integers:
        """Return the tenths of the total that are spent, rounded down; 0 with a window."""
        if self.window is not None:
            return np.zeros(len(state["spent"]), dtype=np.int64)
        tenths = np.minimum(state["spent"] // -(-self.total // 10), 10)
        return np.where(self.exhausted(state), AT_THE_END, tenths)
