"""Lift real-time release to ticks of event time: every stream is a series with a budget of its own.

A stream with a number in a tick is measured, and one without is predicted. After `idle` ticks in a
row without one a stream pauses: what it knows and what it spent stays, and goes on with its next
number, as if there had been no ticks in between.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fugu.dataflows.base.batches import DeadLetters, Reason, Sanitized
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.records.series import SAID
from fugu.dataflows.stages.per_tick import TickStage, places
from fugu.dataflows.stages.tick_releases import TickReleases, sanitized_ticks
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Array, Inputs, Integers, Mechanism, Releases, State
from fugu.operators.randomness import tick_position
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.temporal.temporal_perturbation import End


@dataclass(frozen=True)
class SeriesLift(TickStage):
    """Numbers, with noise, tick by tick."""

    mechanism: LocalRealTimeRelease

    said: ClassVar[tuple[str, ...]] = SAID
    nothing: ClassVar[object] = 0

    def start(self, rows: int) -> State:
        """The columns of fresh rows."""
        return series_columns(self.mechanism, self.ticks)(rows)

    def finish(self, partition: int, table: RowTable, end: End) -> Sanitized:
        """Nothing: a tick that is open may still get numbers."""
        return sanitized_ticks(partition, [], DeadLetters(), self.said)

    def _hold(self, table: RowTable, row: int, cell: int, value: object) -> Reason | None:
        values, present, several = table.live("values"), table.live("present"), self.ticks.several
        if present[row, cell] and several != "last":
            return Reason.SECOND_IN_TICK if several == "error" else None
        values[row, cell], present[row, cell] = value, True
        return None

    def _step(self, partition: int, table: RowTable, rows: Integers, tick: int) -> TickReleases:
        state, cell = table.gather(rows), tick % self.ticks.open
        keys = table.keys
        names = [keys[row] for row in rows.tolist()]
        there = state["present"][:, cell].copy()
        position = tick_position(self.source, tick, partition=partition)
        numbers = state["values"][:, cell].copy()
        after, releases = self._advanced(state, names, there, numbers, position)
        state["values"][:, cell] = 0
        state["present"][:, cell] = False
        quiet = np.where(there, 0, state["quiet"] + 1)
        going_on = {"quiet": quiet, "running": quiet < self.ticks.idle}
        table.scatter(rows, {**state, **after, **going_on})
        return self._released(tick, names, releases)

    def _advanced(
        self, state: State, names: list[bytes], there: Array, numbers: Array, position: bytes
    ) -> tuple[State, Releases]:
        """Measured where a number is there, and predicted elsewhere."""
        columns = self.mechanism.start(0)
        some, others = np.flatnonzero(there), np.flatnonzero(~there)

        def of(rows: Integers) -> State:
            return {name: state[name][rows] for name in columns}

        draws = self.scope.draws([names[row] for row in some.tolist()], [position] * len(some))
        measured, releases = self.mechanism.step(of(some), Inputs(numbers[some]), draws)
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
            "values": np.zeros((rows, ticks.open + 1), dtype=np.int64),
            **places(ticks, rows),
        }

    return start
