"""Bound what a user contributes: at most once to a tick, the latest record by offset counts.

When stream time has passed a tick, the contributions to it are summed by group. Whether a record is
late or too far ahead depends on the times of records before it in its partition, and never on how
they were cut into batches.
"""

from dataclasses import dataclass, field

import numpy as np

from dataflows.admission import Admission
from dataflows.aggregates.partials import Partial
from dataflows.batches import DeadLetters, Decoded
from dataflows.state.row_table import RowTable
from dataflows.ticks import Ticks
from operators.mechanism import ExhaustibleMechanism, State

_NO_TICK = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Bounded:
    """The sums of ticks that are closed now, in order, and refused records."""

    partition: int
    partials: list[Partial] = field(default_factory=list)
    dead: DeadLetters = field(default_factory=DeadLetters)


@dataclass(frozen=True)
class Bounding:
    """The contributions of one partition's users to `groups` groups."""

    ticks: Ticks
    groups: int
    admission: Admission

    @property
    def ends(self) -> ExhaustibleMechanism | None:
        """No row comes to an end."""
        return None

    def start(self, rows: int) -> State:
        """The columns of fresh rows."""
        return cells(self.ticks, rows)

    def __call__(self, decoded: Decoded, table: RowTable) -> Bounded:
        """Note every contribution, and sum the ticks that are closed."""
        closed: list[Partial] = []
        values = decoded.values.reshape(-1, 2).tolist()
        for index, (key, time) in enumerate(zip(decoded.keys, decoded.timestamps, strict=True)):
            reason = self.ticks.refusal(table.clock, time) or self.admission.refusals(
                table, decoded.partition, [key]
            ).get(0)
            if reason is not None:
                decoded.dead.add(decoded.offsets[index], time, reason)
                continue
            for tick in self.ticks.passed(table.clock, time):
                closed.append(self._summed(decoded.partition, table, tick))
            self._note(table, key, self.ticks.of(time), *values[index])
        return Bounded(decoded.partition, closed, decoded.dead.in_order())

    def finish(self, partition: int, table: RowTable) -> Bounded:
        """Nothing: a tick that is open may still get contributions."""
        return Bounded(partition)

    def _note(self, table: RowTable, key: bytes, tick: int, group: int, amount: int) -> None:
        row, cell = int(table.rows_of([key])[0]), tick % self.ticks.open
        columns = table.columns
        columns["tick"][row, cell] = tick
        columns["group"][row, cell] = group
        columns["amount"][row, cell] = amount
        table.touch(row)

    def _summed(self, partition: int, table: RowTable, tick: int) -> Partial:
        columns, cell = table.columns, tick % self.ticks.open
        rows = np.flatnonzero(columns["tick"][:, cell] == tick)
        sums = np.zeros(self.groups, dtype=np.int64)
        np.add.at(sums, columns["group"][rows, cell], columns["amount"][rows, cell])
        groups = np.flatnonzero(sums)
        return Partial(partition, tick, groups, sums[groups])


def cells(ticks: Ticks, rows: int) -> State:
    """A cell for each tick that may be open; it belongs to the tick that it names."""
    shape = (rows, ticks.open)
    return {
        "tick": np.full(shape, _NO_TICK),
        "group": np.zeros(shape, dtype=np.int64),
        "amount": np.zeros(shape, dtype=np.int64),
    }
