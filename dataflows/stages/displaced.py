"""Lift temporal perturbation to ticks of event time.

A stream without a record has no value in a tick, which is a value like any other to the mechanism.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np

from fugu.dataflows.base.batches import DeadLetters, Reason, Sanitized
from fugu.dataflows.base.ticks import CLOSED, TIME, Ticks
from fugu.dataflows.records.payloads import LARGEST_PAYLOAD_BYTES
from fugu.dataflows.stages.epoch_end import ended
from fugu.dataflows.stages.per_tick import TickStage, places
from fugu.dataflows.stages.tick_releases import TickReleases, sanitized_ticks
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Inputs, Integers, Mechanism, State
from fugu.operators.randomness import tick_position
from fugu.operators.temporal.payloads import is_there
from fugu.operators.temporal.temporal_perturbation import End, TemporalPerturbation


@dataclass(frozen=True)
class TickLift(TickStage):
    """Payloads, displaced in time."""

    mechanism: TemporalPerturbation
    nothing: ClassVar[object] = None
    _columns: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_columns", tuple(self.mechanism.start(0)))

    def start(self, rows: int) -> State:
        """The columns of fresh rows."""
        return tick_columns(self.mechanism, self.ticks)(rows)

    def finish(self, partition: int, table: RowTable, end: End) -> Sanitized:
        """Close what is open, let out what is pending, and end every epoch.

        Stream time begins anew, however far ahead; closed ticks stay closed.
        """
        released: list[TickReleases] = []
        if TIME in table.clock:
            first, last = table.clock[CLOSED] + 1, table.clock[CLOSED] + self.ticks.open
            table.clock.clear()
            table.clock[CLOSED] = last
            released += self._close(partition, table, range(first, last + 1))
            self._forget(partition, table)
            running, begun = table.live("running"), table.live("tick") > 0
            table.touch(np.flatnonzero(running & ~begun))
            running &= begun
            rows = np.flatnonzero(running)
            state = table.gather(rows)
            inner = {name: state[name] for name in self._columns}
            keys = table.keys
            names = [keys[row] for row in rows.tolist()]
            draws = partial(self.scope.draws, names)
            after, leaving = ended(self.mechanism, inner, end, (self.source, partition), draws)
            table.scatter(rows, {**self.start(len(rows)), **after})
            released += [
                self._released(last + later, names, releases)
                for later, releases in enumerate(leaving, start=1)
            ]
        return sanitized_ticks(partition, released, DeadLetters())

    def _hold(self, table: RowTable, row: int, cell: int, value: object) -> Reason | None:
        assert value is None or isinstance(value, bytes)
        place = row, cell
        values, present, several = table.live("values"), table.live("present"), self.ticks.several
        if present[place] and several in ("first", "error"):
            return Reason.SECOND_IN_TICK if several == "error" else None
        if several == "list":
            before = b"[" if not present[place] else values[place][:-1] + b","
            value = before + (b"null" if value is None else value) + b"]"
            if len(value) > LARGEST_PAYLOAD_BYTES:
                return Reason.TOO_LARGE
        values[place], present[place] = value, True
        return None

    def _step(self, partition: int, table: RowTable, rows: Integers, tick: int) -> TickReleases:
        """Begin epochs with the next tick, and go on with those that run.

        Releases alone decide when an epoch ends, and a record that is never released when it
        begins, so that neither says anything about the values that are released.
        """
        running = table.live("running")[rows]
        self._begin(table, rows[~running], tick)
        return self._advance(partition, table, rows[running], tick)

    def _begin(self, table: RowTable, rows: Integers, tick: int) -> None:
        cell = tick % self.ticks.open
        table.live("values")[rows, cell] = None
        table.live("present")[rows, cell] = False
        table.live("running")[rows] = True
        table.touch(rows)

    def _advance(self, partition: int, table: RowTable, rows: Integers, tick: int) -> TickReleases:
        state, cell = table.gather(rows), tick % self.ticks.open
        keys = table.keys
        names = [keys[row] for row in rows.tolist()]
        position = tick_position(self.source, tick, partition=partition)
        draws = self.scope.draws(names, [position] * len(rows))
        inner = {name: state[name] for name in self._columns}
        after, releases = self.mechanism.step(inner, Inputs(state["values"][:, cell]), draws)
        state["values"][:, cell] = None
        state["present"][:, cell] = False
        state["quiet"] = np.where(is_there(releases.values), 0, state["quiet"] + 1)
        ends = np.flatnonzero(state["quiet"] >= self.ticks.idle)
        fresh = self.mechanism.next_epoch({name: column[ends] for name, column in after.items()})
        for name, column in after.items():
            column[ends] = fresh[name]
        state["quiet"][ends] = 0
        running = np.ones(len(rows), dtype=bool)
        running[ends] = False
        table.scatter(rows, {**state, **after, "running": running})
        return self._released(tick, names, releases)


def tick_columns(mechanism: Mechanism, ticks: Ticks) -> Callable[[int], State]:
    """The columns of a row: the mechanism's, the values of open ticks, whether an epoch goes on,
    and in how many ticks nothing was released."""

    def start(rows: int) -> State:
        return {
            **mechanism.start(rows),
            "values": np.full((rows, ticks.open + 1), None, dtype=object),
            **places(ticks, rows),
        }

    return start
