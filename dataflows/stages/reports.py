"""Report streams in ticks of event time, every known one at every tick, also where it is absent.

Nothing that is released says in which ticks a stream had a record, up to what the reports tell. So
neither may when it ends: a stream reports for good from its first record on, or for a declared
`life`, after which its next record begins another one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from fugu.dataflows.base.batches import DeadLetters, Sanitized
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.stages import per_tick
from fugu.dataflows.stages.per_tick import PerTick
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.columns import ByteColumn
from fugu.operators.mechanism import (
    Array,
    Inputs,
    Integers,
    Mechanism,
    Releases,
    RunningMechanism,
    State,
)
from fugu.operators.multi_step import running
from fugu.operators.randomness import SECRET_BYTES, Secret, tick_position
from fugu.operators.temporal.temporal_perturbation import End
from fugu.operators.wevent_local.window_reports import WindowReports

AGE = "age"
"""The column that counts the ticks since a life of the stream began."""


@dataclass(frozen=True)
class ReportsPerTick(PerTick):
    """Report symbols, and absence, under a budget of windows."""

    mechanism: WindowReports

    said: ClassVar[tuple[str, ...]] = ("epsilon",)
    nothing: ClassVar[object] = 0

    def start(self, rows: int) -> State:
        return report_columns(self.mechanism, self.ticks)(rows)

    def warm_up(self, values: Array) -> Sanitized | None:
        """Compile what is to be compiled; made-up streams say these values, to be thrown away."""
        if self._running is None:
            return None
        apart = replace(self, scope=replace(self.scope, secret=Secret(bytes(SECRET_BYTES))))
        names = ByteColumn.of([b"made up %d" % number for number in range(len(values))])
        state, there = self.start(len(values)), np.ones(len(values), dtype=bool)
        position = tick_position(self.source, 0, partition=0)
        _, releases = apart._step(state, values, there, names, position)
        return self._made(0, [self._released(0, names, releases)], DeadLetters())

    def finish(self, partition: int, table: RowTable, end: End) -> Sanitized:
        """Release nothing: a tick that is open may still get symbols."""
        return self._made(partition, [], DeadLetters())

    @cached_property
    def _running(self) -> RunningMechanism | None:
        return running(self.mechanism)

    def _step(
        self, state: State, values: Array, there: Array, names: ByteColumn, position: bytes
    ) -> tuple[State, Releases]:
        """Advance every stream; one without a record has the value of absence."""
        draws = self.scope.draws(names, ByteColumn.repeated(position, len(names)))
        inputs = Inputs(np.where(there, values, self.mechanism.symbols))
        if self._running is None:
            after, releases = self.mechanism.step(self.own(state), inputs, draws)
        else:
            rows: Integers = np.arange(len(names))
            run = self._running.run(self.own(state), rows, inputs, draws)
            after, releases = run.state, run.releases
        return {**after, **self._grown(state)}, releases

    def _grown(self, state: State) -> State:
        """Return how old streams are after a tick, and which of them go on without a record."""
        age = state[AGE] + 1
        if self.ticks.life is None:
            return {AGE: age, "running": np.ones(len(age), dtype=bool)}
        return {AGE: np.where(age < self.ticks.life, age, 0), "running": age < self.ticks.life}


def report_columns(mechanism: Mechanism, ticks: Ticks) -> Callable[[int], State]:
    """Return what makes the columns of fresh rows, which hold symbols of open ticks."""
    columns = per_tick.tick_columns(mechanism, ticks, ReportsPerTick.nothing)

    def start(rows: int) -> State:
        return {**columns(rows), AGE: np.zeros(rows, dtype=np.int64)}

    return start
