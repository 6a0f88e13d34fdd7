"""Run several positions of one row in one call, or in rounds of steps.

A *run* advances streams by several positions each (`RunningMechanism`). A *round* is a `step` of
distinct rows. Rounds are what a run must equal, bit for bit, and what it falls back to.
"""

from abc import ABC
from collections.abc import Iterator
from typing import cast

import numpy as np

from fugu.operators.budget_units import LARGEST_SPENT, add_spent
from fugu.operators.columns import copied, put, taken
from fugu.operators.mechanism import (
    Array,
    ChargingMechanism,
    ChargingRunningMechanism,
    Draws,
    Inputs,
    Integers,
    Mechanism,
    Releases,
    Run,
    RunningMechanism,
    State,
)
from fugu.operators.randomness import draws_of


def running(mechanism: Mechanism) -> RunningMechanism | None:
    """Return the mechanism if it advances a row by several positions in one call."""
    return mechanism if isinstance(mechanism, RunningMechanism) and mechanism.runs else None


def occurrences(rows: Integers) -> Integers:
    """Count the earlier positions of the row of each position.

    >>> occurrences(np.array([7, 3, 7, 7, 3])).tolist()
    [0, 0, 1, 2, 1]
    """
    by_row = np.argsort(rows, kind="stable")
    ordered = rows[by_row]
    is_first = np.ones(len(rows), dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    starts = np.maximum.accumulate(np.where(is_first, np.arange(len(rows)), 0))
    earlier = np.empty(len(rows), dtype=np.int64)
    earlier[by_row] = np.arange(len(rows)) - starts
    return earlier


def rounds_of_distinct_rows(rows: Integers) -> Iterator[Integers]:
    """Yield the indices of the first occurrence of every row, then of the second, and so on.

    One empty round stands for an empty batch.

    >>> [index.tolist() for index in rounds_of_distinct_rows(np.array([7, 3, 7, 7, 3]))]
    [[0, 1], [2, 4], [3]]
    """
    if len(rows) == 0:
        yield rows
        return
    occurrence = occurrences(rows)
    by_round = np.argsort(occurrence, kind="stable")
    yield from np.split(by_round, np.cumsum(np.bincount(occurrence))[:-1])


def run_in_rounds(
    mechanism: Mechanism,
    state: State,
    rows: Integers,
    inputs: Inputs,
    draws: Draws,
    total: int | None = None,
) -> Run:
    """Run steps in rounds, for draws and machines that know no other way.

    With `total`, the mechanism is one that charges.
    """
    state = copied(state)
    ended = np.zeros(len(state["spent"]), dtype=bool)
    paid = np.zeros(len(rows), dtype=bool)
    spent = np.zeros(len(rows), dtype=np.int64)
    parts = []
    for chosen in rounds_of_distinct_rows(rows):
        if total is not None:
            charge = cast(ChargingMechanism, mechanism).next_charge(taken(state, rows[chosen]))
            ended[rows[chosen]] |= state["spent"][rows[chosen]] + charge > total
        going_on = chosen[~ended[rows[chosen]]]
        row = rows[going_on]
        before = taken(state, row)
        its = draws_of(draws, going_on, len(rows))
        after, releases = mechanism.step(before, Inputs(inputs.values[going_on]), its)
        put(state, row, after)
        paid[going_on] = True
        spent[chosen] = state["spent"][rows[chosen]]
        parts.append((going_on, releases))
    return Run(state, placed_releases(parts, len(rows)), {"spent": spent}, paid)


def placed_releases(parts: list[tuple[Integers, Releases]], positions: int) -> Releases:
    """Place the releases of several steps at their positions; others are zero."""

    places = [chosen for chosen, _ in parts]

    def placed(columns: list[Array]) -> Array:
        return _placed(places, columns, positions)

    released = [releases for _, releases in parts]
    kinds = [one.kinds for one in released if one.kinds is not None]
    return Releases(
        placed([one.values for one in released]),
        {
            name: placed([one.annotations[name] for one in released])
            for name in released[0].annotations
        },
        placed(kinds) if kinds else None,
    )


def joined_runs(parts: list[tuple[Integers, Run]], positions: int) -> Run:
    """Return several runs, of different streams, as one; each began with the state that the one
    before it left."""
    places, runs = [chosen for chosen, _ in parts], [run for _, run in parts]
    ledger = {
        name: _placed(places, [run.ledger[name] for run in runs], positions)
        for name in runs[0].ledger
    }
    releases = placed_releases([(chosen, run.releases) for chosen, run in parts], positions)
    paid = _placed(places, [run.paid for run in runs], positions)
    return Run(runs[-1].state, releases, ledger, paid)


def _placed(places: list[Integers], columns: list[Array], positions: int) -> Array:
    whole = np.zeros((positions, *columns[0].shape[1:]), dtype=columns[0].dtype)
    for chosen, column in zip(places, columns, strict=True):
        whole[chosen] = column
    return whole


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
