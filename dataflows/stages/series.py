"""Release series of numbers in ticks of event time, each with a budget of its own.

A stream with a number in a tick is measured, and one without is predicted. After `idle` ticks in a
row without one a stream pauses: what it knows and what it spent stays, and goes on with its next
number, as if there had been no ticks in between.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fugu.dataflows.base.batches import DeadLetters, Sanitized
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.records.series import SAID
from fugu.dataflows.stages import per_tick
from fugu.dataflows.stages.per_tick import PerTick
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.columns import ByteColumn, joined, taken
from fugu.operators.mechanism import Array, Inputs, Mechanism, Releases, State
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.temporal.temporal_perturbation import End


@dataclass(frozen=True)
class SeriesPerTick(PerTick):
    """Release numbers with noise, tick by tick."""

    mechanism: LocalRealTimeRelease

    said: ClassVar[tuple[str, ...]] = SAID
    nothing: ClassVar[object] = 0

    def start(self, rows: int) -> State:
        return series_columns(self.mechanism, self.ticks)(rows)

    def finish(self, partition: int, table: RowTable, end: End) -> Sanitized:
        """Release nothing: a tick that is open may still get numbers."""
        return self._made(partition, [], DeadLetters())

    def _step(
        self, state: State, values: Array, there: Array, names: ByteColumn, position: bytes
    ) -> tuple[State, Releases]:
        """Measure where a number is there, and predict elsewhere."""
        some, others = np.flatnonzero(there), np.flatnonzero(~there)
        positions = ByteColumn.repeated(position, len(some))
        draws = self.scope.draws(names.taken(some), positions)
        own, inputs = self.own(state), Inputs(values[some])
        measured, releases = self.mechanism.step(taken(own, some), inputs, draws)
        skipped, predicted = self.mechanism.skip(taken(own, others))
        order = np.argsort(np.concatenate([some, others]))
        after = taken(joined([measured, skipped]), order)
        notes = taken(joined([releases.annotations, predicted.annotations]), order)
        quiet = np.where(there, 0, state["quiet"] + 1)
        told = np.concatenate([releases.values, predicted.values])[order]
        going_on = {"quiet": quiet, "running": quiet < self.ticks.idle}
        return {**after, **going_on}, Releases(told, notes)


def series_columns(mechanism: Mechanism, ticks: Ticks) -> Callable[[int], State]:
    """Return what makes the columns of fresh rows, which hold numbers of open ticks."""
    return per_tick.quiet_columns(mechanism, ticks, SeriesPerTick.nothing)
