"""Several positions of a stream in one call, under a budget without a window."""

from dataclasses import dataclass

import numpy as np

from fugu.operators.budget_units import LARGEST_SPENT
from fugu.operators.columns import copied
from fugu.operators.mechanism import (
    Array,
    ChargingRunningMechanism,
    Draws,
    Inputs,
    Integers,
    Kind,
    Releases,
    Run,
    State,
)


@dataclass(frozen=True)
class BudgetRun:
    """Run a mechanism while `total` units pay for it, and publish one free thing afterwards.

    A row that could not pay once is exhausted for good, so its releases are those that were paid
    for, and then one and the same thing for ever. `when_exhausted` is the kind of that, and
    `constant` says that it is the mechanism's constant and not the last release.
    """

    mechanism: ChargingRunningMechanism
    total: int
    when_exhausted: Kind
    constant: bool

    def run(
        self,
        inner: State,
        last: Array,
        exhausted: Array,
        rows: Integers,
        inputs: Inputs,
        draws: Draws,
    ) -> tuple[Run, Array, Array]:
        """Return the run, the last release of every row, and which rows have come to their end."""
        inside = self._inside(inner, exhausted, rows, inputs, draws)
        paid, releases = inside.paid, inside.releases
        last, values = last.copy(), releases.values.copy()
        last[rows[paid]] = values[paid]
        unpaid = np.flatnonzero(~paid)
        ended = rows[unpaid]
        instead = np.asarray(self.mechanism.constant) if self.constant else last[ended]
        values[unpaid] = instead
        if self.when_exhausted != Kind.SUPPRESSED:
            last[ended] = instead
        notes = copied(releases.annotations)
        for note in notes.values():
            note[unpaid] = np.nan
        state, exhausted = inside.state, exhausted.copy()
        exhausted[ended] = True
        for name, column in self.mechanism.start(1).items():
            if name != "spent":
                state[name][ended] = column[0]
        own = Kind.FRESH if releases.kinds is None else releases.kinds
        kinds = np.where(paid, own, self.when_exhausted)
        run = Run(state, Releases(values, notes, kinds), inside.ledger, paid)
        return run, last, exhausted

    def _inside(
        self, inner: State, exhausted: Array, rows: Integers, inputs: Inputs, draws: Draws
    ) -> Run:
        """Run all rows; a row that has ended is one that spent everything, and pays for nothing."""
        spent = inner["spent"]
        ledger = {**inner, "spent": np.where(exhausted, LARGEST_SPENT, spent)}
        run = self.mechanism.run(ledger, rows, inputs, draws, self.total)
        state = {**run.state, "spent": np.where(exhausted, spent, run.state["spent"])}
        by_position = np.where(exhausted[rows], spent[rows], run.ledger["spent"])
        return Run(state, run.releases, {"spent": by_position}, run.paid)
