"""Runs both halves of LDP-IDS over users in memory, one tick after the other."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fugu.operators.ldp_ids.collector import Collector
from fugu.operators.ldp_ids.deciding import DecidingCollector
from fugu.operators.ldp_ids.reporting import NOTHING, Instruction, Spent
from fugu.operators.ldp_ids.strategies import (
    CollectedBudgetAbsorption,
    CollectedBudgetDistribution,
    CollectedPopulationAbsorption,
    CollectedPopulationDistribution,
    CollectedPopulationUniform,
    CollectedSample,
    CollectedUniform,
)
from fugu.operators.mechanism import Draws, Inputs, Integers, Releases, State

FIXED: list[type[Collector]] = [CollectedUniform, CollectedSample, CollectedPopulationUniform]
BY_BUDGET: list[type[DecidingCollector]] = [CollectedBudgetDistribution, CollectedBudgetAbsorption]
BY_POPULATION: list[type[DecidingCollector]] = [
    CollectedPopulationDistribution,
    CollectedPopulationAbsorption,
]
DECIDING: list[type[DecidingCollector]] = [*BY_BUDGET, *BY_POPULATION]
KINDS: list[type[Collector]] = [*FIXED, *DECIDING]


@dataclass
class Round:
    """One tick: what was asked, what was reported, and what was released."""

    tick: int
    instruction: Instruction
    tally: Integers
    releases: Releases


class Users:
    """The users' side, which remembers their budgets."""

    def __init__(self, mechanism: Collector, users: int, draws: Draws) -> None:
        self.reporting = mechanism.reporting
        self.state: State = self.reporting.placed(self.reporting.start(users), draws)
        self.spent: Spent = {}

    def report(self, symbols: Integers, tick: int, asked: Instruction, draws: Draws) -> Integers:
        """All users report who have a symbol, which is not negative; return the tally."""
        there = np.flatnonzero(symbols >= 0)
        some = {name: column[there] for name, column in self.state.items()}
        some, self.spent, tally = self.reporting.report(
            some, self.spent, symbols[there], tick, asked, draws
        )
        for name, column in some.items():
            self.state[name][there] = column
        return tally


def rounds(
    mechanism: Collector, symbols: Integers, draws: Draws, first: int = 0
) -> Iterator[Round]:
    """Yield all ticks of `symbols (ticks, users)`; a negative symbol is that of nobody."""
    users, state = Users(mechanism, symbols.shape[1], draws), mechanism.start(1)
    told = NOTHING
    for tick, row in enumerate(symbols):
        fixed = users.reporting.fixed
        asked = told if fixed is None else fixed(tick)
        tally = users.report(row, tick, asked, draws)
        state, releases = mechanism.step(state, Inputs(tally[None]), draws)
        told = mechanism.instruction(state) or NOTHING
        yield Round(tick, asked, tally, releases)
