"""Releases that stand alone: several positions of a stream are one step of as many rows."""

from abc import ABC

import numpy as np

from fugu.operators.budget_units import LARGEST_SPENT, add_spent
from fugu.operators.columns import taken
from fugu.operators.mechanism import (
    Array,
    ChargingRunningMechanism,
    Draws,
    Inputs,
    Integers,
    Releases,
    Run,
    State,
)
from fugu.operators.multi_step import occurrences, placed_releases
from fugu.operators.randomness import draws_of


class IndependentReleases(ChargingRunningMechanism, ABC):
    """Release by a `step` that depends on nothing that came before, at a constant charge."""

    def start(self, rows: int) -> State:
        return {"spent": np.zeros(rows, dtype=np.int64)}

    @property
    def runs(self) -> bool:
        return True

    def run(
        self, state: State, rows: Integers, inputs: Inputs, draws: Draws, total: int | None = None
    ) -> Run:
        charge, spent = self.largest_charge, state["spent"]
        affordable = np.full(len(spent), len(rows))
        if total is not None:
            affordable = np.maximum((total - spent) // charge, 0)
        number = occurrences(rows) + 1
        paid = number <= affordable[rows]
        charged = np.minimum(number, affordable[rows]) * charge
        ledger = {"spent": np.minimum(spent[rows] + charged, LARGEST_SPENT)}
        releases = self._released(ledger, np.flatnonzero(paid), inputs, draws)
        times = np.bincount(rows[paid], minlength=len(spent))
        after = {"spent": np.minimum(spent + times * charge, LARGEST_SPENT)}
        return Run(after, releases, ledger, paid)

    def _released(self, ledger: State, there: Integers, inputs: Inputs, draws: Draws) -> Releases:
        """Draw for the positions that are `there` alone: streams at their end cost no words."""
        positions = len(ledger["spent"])
        if len(there) == positions:
            return self.step(ledger, inputs, draws)[1]
        some = Inputs(inputs.values[there])
        _, releases = self.step(taken(ledger, there), some, draws_of(draws, there, positions))
        return placed_releases([(there, releases)], positions)

    def skip(self, state: State, instead: Array) -> tuple[State, Releases]:
        return dict(state), Releases(instead)

    def next_charge(self, state: State) -> Integers:
        return np.full(len(state["spent"]), self.largest_charge, dtype=np.int64)

    def _spent_after(self, state: State) -> State:
        return {"spent": add_spent(state["spent"], self.next_charge(state))}
