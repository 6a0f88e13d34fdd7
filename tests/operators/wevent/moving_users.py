"""The stream of section 9 of the PBA specification, its printed table, and a run against it.

2,000 users on a ring of 50 cells, 300 ticks. Cells are popular like 1/1, 1/2, 1/3, ...: users start
by popularity; at each tick they stay with probability 0.80, go one cell on or back with 0.06 each,
or jump by popularity with 0.08, where popularity is rolled by 17 cells at tick 101 and at tick 201.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from fugu.operators.mechanism import Floats, Inputs, Integers
from fugu.operators.wevent.pba import PrivacyBudgetAllocation
from fugu.operators.wevent.spread_strategies import (
    BudgetAbsorption,
    BudgetDistribution,
    Sample,
    Uniform,
)
from fugu.operators.wevent.strategy import Strategy
from tests.operators.noise.simulated import SimulatedDraws

USERS, CELLS, TICKS = 2000, 50, 300
MOVES = (0.80, 0.06, 0.06, 0.08)
"""The chances to stay, to go on, to go back and to jump."""
CONSTANT_GUESS = 32.1
"""Printed mean error of publishing the number of users over the number of cells."""

STRATEGIES: dict[str, Callable[..., Strategy]] = {
    "Uniform": Uniform,
    "Sample": Sample,
    "BD": BudgetDistribution,
    "BA": BudgetAbsorption,
    "PBA flags 0": PrivacyBudgetAllocation,
}

TABLE = {
    (10, 1.0): "10.01/200.9 5.49/106.9 8.21/132.1 8.91/158.8 11.27/256.5",
    (20, 1.0): "20.02/803.6 8.09/327.3 10.30/215.7 13.00/359.5 14.12/425.1",
    (40, 1.0): "40.05/3214 11.90/750.7 13.45/387.1 19.19/793.3 17.69/657.9",
    (80, 1.0): "80.09/12858 18.52/1767 24.02/1432 28.98/1793 27.39/1732",
    (40, 0.1): "400.5/3.21e5 17.48/946.2 77.71/13022 87.59/16944 95.05/19458",
    (40, 0.5): "80.09/12858 12.22/756.1 20.58/897.9 28.98/1793 27.00/1548",
    (40, 2.0): "20.02/803.6 11.81/749.5 10.06/223.8 13.00/359.5 12.39/333.7",
}
"""The printed mean absolute and mean squared error of each strategy, by window and epsilon."""


@dataclass(frozen=True)
class Cell:
    """One entry of the table."""

    window: int
    epsilon: float
    strategy: str
    absolute: float
    squared: float


@dataclass(frozen=True)
class Measured:
    """The same, of one run per row, with what the largest window was charged."""

    absolute: Floats
    squared: Floats
    window_epsilon: float

    def agrees_with(self, cell: Cell, tolerance: float) -> bool:
        """Return whether both means are close to the printed ones, relatively."""
        pairs = ((self.absolute.mean(), cell.absolute), (self.squared.mean(), cell.squared))
        return all(abs(mean / printed - 1.0) <= tolerance for mean, printed in pairs)


def cells() -> Iterator[Cell]:
    """All entries, row by row."""
    for (window, epsilon), row in TABLE.items():
        for name, entry in zip(STRATEGIES, row.split(), strict=True):
            absolute, squared = entry.split("/")
            yield Cell(window, epsilon, name, float(absolute), float(squared))


@cache
def counts(seed: int) -> Integers:
    """Return how many users are in each cell, `(ticks, cells)`."""
    return np.stack([np.bincount(where, minlength=CELLS) for where in walks(seed)])


def popular() -> Floats:
    """Return how often users start in a cell."""
    popularity = 1.0 / np.arange(1, CELLS + 1)
    return np.asarray(popularity / popularity.sum())


@cache
def walks(seed: int) -> Integers:
    """Return the cell of every user, `(ticks, users)`."""
    rng, popularity = np.random.default_rng(seed), popular()
    where = rng.choice(CELLS, size=USERS, p=popularity)
    ticks = [where]
    for tick in range(2, TICKS + 1):
        rolled = np.roll(popularity, 17 * ((tick > 100) + (tick > 200)))
        jump = rng.choice(CELLS, size=USERS, p=rolled)
        moves = rng.choice(4, size=USERS, p=MOVES)
        near = (where + np.array([0, 1, -1, 0])[moves]) % CELLS
        where = np.where(moves == 3, jump, near)
        ticks.append(where)
    return np.stack(ticks)


def measure(cell: Cell, *, stream: int, runs: int, seed: int) -> Measured:
    """Release one stream `runs` times, each with noise of its own."""
    strategy = STRATEGIES[cell.strategy](CELLS, cell.window, cell.epsilon, sensitivity=1)
    return measured(strategy, stream=stream, runs=runs, seed=seed)


def measured(strategy: Strategy, *, stream: int, runs: int, seed: int) -> Measured:
    """Do so by any strategy over the cells."""
    state, draws = strategy.start(runs), SimulatedDraws(np.random.default_rng(seed))
    absolute, squared, charged = np.zeros(runs), np.zeros(runs), 0.0
    for true in counts(stream):
        values = np.repeat(true[None], runs, axis=0)
        state, releases = strategy.step(state, Inputs(values), draws)
        error = releases.values - values
        absolute += np.abs(error).mean(axis=1) / TICKS
        squared += (error * error).mean(axis=1) / TICKS
        charged = max(charged, float(releases.annotations["window_epsilon"].max()))
    return Measured(absolute, squared, charged)
