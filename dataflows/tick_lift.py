"""Lift temporal perturbation to ticks of event time.

A stream without a record has no value in a tick, which is a value like any other to the mechanism.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dataflows.batches import DeadLetters, Reason, Sanitized
from dataflows.codec.payloads import LARGEST_PAYLOAD_BYTES
from dataflows.epoch_end import ended
from dataflows.state.row_table import RowTable
from dataflows.tick_releases import TickReleases, sanitized_ticks
from dataflows.tick_stage import TickStage
from dataflows.ticks import CLOSED, TIME, Ticks
from operators.mechanism import Inputs, Integers, Mechanism, State
from operators.randomness import tick_position
from operators.temporal.payloads import is_there
from operators.temporal.temporal_perturbation import End, TemporalPerturbation


@dataclass(frozen=True)
class TickLift(TickStage):
    """Payloads, displaced in time."""

    mechanism: TemporalPerturbation
    _columns: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_columns", tuple(self.mechanism.start(0)))

    def start(self, rows: int) -> State:
        """The columns of fresh rows."""
        return tick_columns(self.mechanism, self.ticks)(rows)

    def finish(self, partition: int, table: RowTable, end: End) -> Sanitized:
        """Close what is open, let out what is pending, and end every epoch.

        Stream time begins anew with the next record, however far ahead; closed ticks stay closed.
        """
        released: list[TickReleases] = []
        if TIME in table.clock:
            first, last = table.clock[CLOSED] + 1, self.ticks.of(table.clock.pop(TIME))
            table.clock[CLOSED] = last
            released += self._close(table, range(first, last + 1))
            rows = np.flatnonzero(table.live("running"))
            state = table.gather(rows)
            inner = {name: state[name] for name in self._columns}
            after, leaving = ended(self.mechanism, inner, end, partition)
            table.scatter(rows, {**self.start(len(rows)), **after})
            keys = table.keys
            names = [keys[row] for row in rows.tolist()]
            released += [
                self._released(last + later, names, releases)
                for later, releases in enumerate(leaving, start=1)
            ]
        return sanitized_ticks(partition, released, DeadLetters())

    def _note(self, table: RowTable, key: bytes, tick: int, value: object) -> Reason | None:
        assert value is None or isinstance(value, bytes)
        row = table.row_of(key)
        cell = row, tick % self.ticks.open
        values, present, several = table.live("values"), table.live("present"), self.ticks.several
        if present[cell] and several in ("first", "error"):
            return Reason.SECOND_IN_TICK if several == "error" else None
        if several == "list":
            before = b"[" if not present[cell] else values[cell][:-1] + b","
            value = before + (b"null" if value is None else value) + b"]"
            if len(value) > LARGEST_PAYLOAD_BYTES:
                return Reason.TOO_LARGE
        values[cell], present[cell] = value, True
        table.touch(row)
        return None

    def _step(self, table: RowTable, rows: Integers, tick: int) -> TickReleases:
        state, cell = table.gather(rows), tick % self.ticks.open
        keys = table.keys
        names = [keys[row] for row in rows.tolist()]
        draws = self.scope.draws(names, [tick_position(self.source, tick)] * len(rows))
        inner = {name: state[name] for name in self._columns}
        after, releases = self.mechanism.step(inner, Inputs(state["values"][:, cell]), draws)
        state["values"][:, cell] = None
        state["present"][:, cell] = False
        state["quiet"] = np.where(is_there(releases.values), 0, state["quiet"] + 1)
        idle = np.flatnonzero((state["quiet"] >= self.ticks.idle) & ~state["present"].any(axis=1))
        fresh, pending = self.mechanism.discard({n: column[idle] for n, column in after.items()})
        ends = idle[pending == 0]
        for name, column in after.items():
            column[ends] = fresh[name][pending == 0]
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
            "values": np.full((rows, ticks.open), None, dtype=object),
            "present": np.zeros((rows, ticks.open), dtype=bool),
            "running": np.zeros(rows, dtype=bool),
            "quiet": np.zeros(rows, dtype=np.int64),
        }

    return start
