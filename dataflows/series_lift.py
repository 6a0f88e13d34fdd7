"""Lift real-time release to ticks of event time: every stream is a series with a budget of its own.

A stream with a number in a tick is measured, and one without is predicted. After `idle` ticks in a
row without one a stream pauses: what it knows and what it spent stays, and goes on with its next
number, as if there had been no ticks in between.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dataflows.batches import DeadLetters, Decoded, Reason, Sanitized
from dataflows.codec.series import SAID
from dataflows.state.row_table import RowTable
from dataflows.tick_releases import TickReleases, sanitized_ticks
from dataflows.tick_stage import TickStage
from dataflows.ticks import Ticks
from operators.mechanism import Array, Inputs, Integers, Mechanism, Releases, State
from operators.randomness import tick_position
from operators.realtime.local_release import LocalRealTimeRelease
from operators.temporal.temporal_perturbation import End


@dataclass(frozen=True)
class SeriesLift(TickStage):
    """Numbers, with noise, tick by tick."""

    mechanism: LocalRealTimeRelease

    said: ClassVar[tuple[str, ...]] = SAID

    def start(self, rows: int) -> State:
        """The columns of fresh rows."""
        return series_columns(self.mechanism, self.ticks)(rows)

    def finish(self, partition: int, table: RowTable, end: End) -> Sanitized:
        """Nothing: a tick that is open may still get numbers."""
        return sanitized_ticks(partition, [], DeadLetters(), self.said)

    def _note(self, table: RowTable, key: bytes, tick: int, value: object) -> Reason | None:
        assert isinstance(value, int)
        row, several = table.row_of(key), self.ticks.several
        cell = row, tick % self.ticks.open
        values, present = table.live("values"), table.live("present")
        if present[cell] and several != "last":
            return Reason.SECOND_IN_TICK if several == "error" else None
        values[cell], present[cell] = value, True
        table.touch(row)
        return None

    def _note_together(self, decoded: Decoded, some: slice, table: RowTable) -> None:
        if self.ticks.several != "last":
            super()._note_together(decoded, some, table)
            return
        ticks = np.array(decoded.timestamps[some], dtype=np.int64) // self.ticks.width
        rows, cells = table.rows_of(decoded.keys[some]), ticks % self.ticks.open
        table.live("values")[rows, cells] = decoded.values[some]
        table.live("present")[rows, cells] = True
        table.touch(rows)

    def _step(self, table: RowTable, rows: Integers, tick: int) -> TickReleases:
        state, cell = table.gather(rows), tick % self.ticks.open
        keys = table.keys
        names = [keys[row] for row in rows.tolist()]
        there = state["present"][:, cell].copy()
        after, releases = self._advanced(state, names, there, tick)
        state["values"][:, cell] = 0
        state["present"][:, cell] = False
        quiet = np.where(there, 0, state["quiet"] + 1)
        going_on = {"quiet": quiet, "running": quiet < self.ticks.idle}
        table.scatter(rows, {**state, **after, **going_on})
        return self._released(tick, names, releases)

    def _advanced(
        self, state: State, names: list[bytes], there: Array, tick: int
    ) -> tuple[State, Releases]:
        """Measured where a number is there, and predicted elsewhere."""
        columns = self.mechanism.start(0)
        some, others = np.flatnonzero(there), np.flatnonzero(~there)

        def of(rows: Integers) -> State:
            return {name: state[name][rows] for name in columns}

        position = tick_position(self.source, tick)
        draws = self.scope.draws([names[row] for row in some.tolist()], [position] * len(some))
        values = state["values"][some, tick % self.ticks.open]
        measured, releases = self.mechanism.step(of(some), Inputs(values), draws)
        skipped, predicted = self.mechanism.skip(of(others))
        order = np.argsort(np.concatenate([some, others]))

        def in_order(one: Mapping[str, Array], other: Mapping[str, Array]) -> dict[str, Array]:
            return {name: np.concatenate([one[name], other[name]])[order] for name in one}

        told = in_order({"value": releases.values}, {"value": predicted.values})
        notes = in_order(releases.annotations, predicted.annotations)
        return in_order(measured, skipped), Releases(told["value"], notes)


def series_columns(mechanism: Mechanism, ticks: Ticks) -> Callable[[int], State]:
    """The columns of a row: the mechanism's, the numbers of open ticks, whether the stream goes on
    without one, and for how many ticks it had none."""

    def start(rows: int) -> State:
        return {
            **mechanism.start(rows),
            "values": np.zeros((rows, ticks.open), dtype=np.int64),
            "present": np.zeros((rows, ticks.open), dtype=bool),
            "running": np.zeros(rows, dtype=bool),
            "quiet": np.zeros(rows, dtype=np.int64),
        }

    return start
