"""Section 10 of the SIP specification: the long-run error of batches on a binary Markov chain."""

from dataclasses import dataclass

import numpy as np

from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Inputs, Kind
from fugu.operators.sip.batches.batched_release import BatchedRelease
from tests.operators.chosen_draws import simulated
from tests.operators.sip.binary_chain import CASES, SEQUENCES, Measured


@dataclass(frozen=True)
class Column:
    """Batches of so many symbols, with epsilon for each symbol or for the whole batch."""

    window: int
    per_symbol: bool

    @property
    def name(self) -> str:
        return f"b{self.window}" if self.per_symbol else f"b{self.window}(e)"

    def epsilon_per_batch(self, epsilon: float) -> float:
        return self.window * epsilon if self.per_symbol else epsilon


COLUMNS = [Column(2, True), Column(3, True), Column(2, False), Column(3, False)]

TABLE: dict[tuple[int, float], tuple[float, float, float, float]] = {
    (1, 0.1): (0.4497, 0.4311, 0.4739, 0.4767),
    (1, 0.5): (0.2064, 0.1935, 0.3710, 0.3904),
    (1, 1.0): (0.0674, 0.0247, 0.2058, 0.2964),
    (1, 1.5): (0.0250, 0.0053, 0.1112, 0.1942),
    (1, 2.0): (0.0092, 0.0013, 0.0676, 0.0671),
    (1, 3.0): (0.0012, 0.0001, 0.0241, 0.0240),
    (2, 0.1): (0.4084, 0.3743, 0.4523, 0.4553),
    (2, 0.5): (0.1755, 0.1300, 0.3012, 0.3111),
    (2, 1.0): (0.0568, 0.0246, 0.1771, 0.1980),
    (2, 1.5): (0.0181, 0.0046, 0.1160, 0.1304),
    (2, 2.0): (0.0082, 0.0010, 0.0573, 0.0709),
    (2, 3.0): (0.0006, 0.0000, 0.0173, 0.0246),
}
"""Mean |x - y| by case and epsilon, in the order of the columns."""


@dataclass(frozen=True)
class Cell:
    """One printed number."""

    case: int
    epsilon: float
    column: Column

    @property
    def printed(self) -> float:
        return TABLE[self.case, self.epsilon][COLUMNS.index(self.column)]


CELLS = [Cell(case, epsilon, column) for case, epsilon in TABLE for column in COLUMNS]


def measure_batches(cell: Cell, *, steps: int, seed: int) -> Measured:
    """Release 40 simulated sequences with simulated draws; a batch begun at the end is left out."""
    rng = np.random.default_rng(seed)
    case, window = CASES[cell.case], cell.column.window
    batched = BatchedRelease(case.model(), window, cell.column.epsilon_per_batch(cell.epsilon))
    state, wrong, largest, counted = batched.start(SEQUENCES), np.zeros(SEQUENCES), 0, 0
    truths = case.truths(rng, steps)
    for step, truth in enumerate(truths, start=1):
        before = state["spent"]
        state, releases = batched.step(state, Inputs(truth), simulated(rng, SEQUENCES))
        assert releases.kinds is not None
        if (releases.kinds == Kind.FRESH).all():
            largest = max(largest, int((state["spent"] - before).max()))
            wrong += (releases.values != truths[step - window : step].T).sum(axis=1)
            counted = step
    errors = wrong / counted
    return Measured(
        error=float(errors.mean()),
        standard_error=float(errors.std(ddof=1) / np.sqrt(SEQUENCES)),
        leakage=in_nats(largest),
    )
