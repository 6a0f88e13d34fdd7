"""Displace payloads in ticks of event time.

A stream without a record has no value in a tick, which is a value like any other to the mechanism.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fugu.dataflows.base.batches import DeadLetters, Reason, Sanitized
from fugu.dataflows.base.ticks import CLOSED, TIME, Passed, Ticks
from fugu.dataflows.records.payloads import LARGEST_PAYLOAD_BYTES
from fugu.dataflows.stages import per_tick
from fugu.dataflows.stages.per_tick import PerTick, TickReleases
from fugu.dataflows.stages.stage import end_epochs
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.columns import ByteColumn, put, taken
from fugu.operators.mechanism import Array, Inputs, Integers, Mechanism, Releases, State
from fugu.operators.temporal.temporal_perturbation import End, TemporalPerturbation, is_there


@dataclass(frozen=True)
class PayloadsPerTick(PerTick):
    """Release payloads that are displaced in time.

    An epoch begins with the tick after a record. Releases alone decide when it ends, and a record
    that is never released when it begins, so that neither says anything about the values that are
    released.
    """

    mechanism: TemporalPerturbation
    nothing: ClassVar[object] = None

    def start(self, rows: int) -> State:
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
            open_ticks = Passed(range(first, last + 1), range(0))
            released += self._close(partition, table, open_ticks)
            self._forget(partition, table)
            running, begun = table.live("running"), table.live("tick") > 0
            table.touch(np.flatnonzero(running & ~begun))
            running &= begun
            rows = np.flatnonzero(running)
            state, names = table.gather(rows), table.keys_of(rows)
            after, leaving = end_epochs(self, self.mechanism, (partition, names), state, end)
            table.scatter(rows, {**self.start(len(rows)), **after})
            released += [
                self._released(last + later, names, releases)
                for later, releases in enumerate(leaving, start=1)
            ]
        return self._made(partition, released, DeadLetters())

    def _note(
        self, table: RowTable, rows: Integers, cells: Integers, times: Integers, values: Array
    ) -> Mapping[int, Reason]:
        """Write values into their cells, all of a tick as a list where the pipeline says so."""
        if self.ticks.several != "list":
            return super()._note(table, rows, cells, times, values)
        table.touch(rows)
        held, present = table.live("values"), table.live("present")
        refused: dict[int, Reason] = {}
        places = zip(rows.tolist(), cells.tolist(), strict=True)
        for number, (place, value) in enumerate(zip(places, values.tolist(), strict=True)):
            before = held[place][:-1] + b"," if present[place] else b"["
            listed = before + (b"null" if value is None else value) + b"]"
            if len(listed) > LARGEST_PAYLOAD_BYTES:
                refused[number] = Reason.TOO_LARGE
            else:
                held[place], present[place] = listed, True
        return refused

    def _release(self, partition: int, table: RowTable, rows: Integers, tick: int) -> TickReleases:
        """Begin epochs with the next tick, and go on with those that run."""
        running, cell = table.live("running")[rows], tick % self.ticks.open
        beginning = rows[~running]
        table.live("values")[beginning, cell] = None
        table.live("present")[beginning, cell] = False
        table.live("running")[beginning] = True
        table.touch(beginning)
        return super()._release(partition, table, rows[running], tick)

    def _step(
        self, state: State, values: Array, there: Array, names: ByteColumn, position: bytes
    ) -> tuple[State, Releases]:
        draws = self.scope.draws(names, ByteColumn.repeated(position, len(names)))
        after, releases = self.mechanism.step(self.own(state), Inputs(values), draws)
        quiet = np.where(is_there(releases.values), 0, state["quiet"] + 1)
        ends = np.flatnonzero(quiet >= self.ticks.idle)
        put(after, ends, self.mechanism.next_epoch(taken(after, ends)))
        quiet[ends] = 0
        running = np.ones(len(names), dtype=bool)
        running[ends] = False
        return {**after, "quiet": quiet, "running": running}, releases


def tick_columns(mechanism: Mechanism, ticks: Ticks) -> Callable[[int], State]:
    """Return what makes the columns of fresh rows, which hold payloads of open ticks."""
    return per_tick.quiet_columns(mechanism, ticks, PayloadsPerTick.nothing)
