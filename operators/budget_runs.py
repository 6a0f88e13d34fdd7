"""Runs under a budget without a window: one run inside, and what is published for free after it.

A row that could not pay once is exhausted for good, so its releases are those that were paid for,
and then one and the same thing for ever. Nothing of that needs a round.
"""

from dataclasses import dataclass

import numpy as np

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
from fugu.operators.randomness import draws_of


@dataclass(frozen=True)
class BudgetRun:
    """`total` in units; `when_exhausted` says what follows, and `constant` whether that is the
    mechanism's constant, or the last release."""

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
        """What comes of it, the last release of every row, and whether its end has come."""
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
        notes = {name: note.copy() for name, note in releases.annotations.items()}
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
        """A run of the rows that have not ended; the positions of the others are not paid for."""
        if not exhausted.any():
            return self.mechanism.run(inner, rows, inputs, draws, self.total)
        live = ~exhausted
        there = np.flatnonzero(live[rows])
        number = np.cumsum(live) - 1
        run = self.mechanism.run(
            {name: column[live] for name, column in inner.items()},
            number[rows[there]],
            Inputs(inputs.values[there]),
            draws_of(draws, there, len(rows)),
            self.total,
        )
        state = {name: column.copy() for name, column in inner.items()}
        for name, column in run.state.items():
            state[name][live] = column

        def placed(column: Array) -> Array:
            whole = np.zeros((len(rows), *column.shape[1:]), dtype=column.dtype)
            whole[there] = column
            return whole

        spent = inner["spent"][rows]
        spent[there] = run.ledger["spent"]
        inside = run.releases
        notes = {name: placed(note) for name, note in inside.annotations.items()}
        kinds = None if inside.kinds is None else placed(inside.kinds)
        releases = Releases(placed(inside.values), notes, kinds)
        return Run(state, releases, {"spent": spent}, placed(run.paid))
