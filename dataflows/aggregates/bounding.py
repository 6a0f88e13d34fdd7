"""Bound what a user contributes: at most once to a tick, the latest record by offset counts.

When stream time has passed a tick, the contributions to it are summed by group. Whether a record is
late or too far ahead depends on the times of records before it in its partition, and never on how
they were cut into batches.
"""

from dataclasses import dataclass, field

import numpy as np

from dataflows.admission import Admission
from dataflows.aggregates.partials import Partial
from dataflows.batches import DeadLetters, Decoded, Reason
from dataflows.state.row_table import RowTable
from dataflows.ticks import TIME, Ticks
from operators.mechanism import ExhaustibleMechanism, Integers, State
from operators.temporal.temporal_perturbation import End

_NO_TICK = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Bounded:
    """The sums of ticks that are closed now, in order, and refused records."""

    partition: int
    partials: list[Partial] = field(default_factory=list)
    dead: DeadLetters = field(default_factory=DeadLetters)


@dataclass(frozen=True)
class Bounding:
    """The contributions of one partition's users to `groups` groups: an amount to one of them, or
    one to each group of a set, if `sets` says so."""

    ticks: Ticks
    groups: int
    admission: Admission
    sets: bool = False

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
        times, waiting = np.array(decoded.timestamps, dtype=np.int64), list[int]()
        unknown = set(table.unknown(decoded.keys))
        clock = table.clock
        (begin, end), latest = self.ticks.quiet(clock), clock.get(TIME, 0)
        for index, time in enumerate(decoded.timestamps):
            if begin <= time < end and index not in unknown:
                latest = max(latest, time)
                waiting.append(index)
                continue
            if clock:
                clock[TIME] = latest
            reason = self.ticks.refusal(clock, time)
            if reason is None and index in unknown:
                reason = self._admitted(decoded, table, index)
            if reason is not None:
                decoded.dead.add(decoded.offsets[index], time, reason)
                continue
            ticks = self.ticks.passed(clock, time)
            if ticks:
                self._note(table, decoded, times, waiting)
                closed += [self._summed(decoded.partition, table, tick) for tick in ticks]
            (begin, end), latest = self.ticks.quiet(clock), clock[TIME]
            waiting.append(index)
        if clock:
            clock[TIME] = latest
        self._note(table, decoded, times, waiting)
        return Bounded(decoded.partition, closed, decoded.dead.in_order())

    def finish(self, partition: int, table: RowTable, end: End) -> Bounded:
        """Nothing: a tick that is open may still get contributions."""
        return Bounded(partition)

    def _admitted(self, decoded: Decoded, table: RowTable, index: int) -> Reason | None:
        """Give a user who is new a row, or say why not."""
        key = decoded.keys[index]
        reason = self.admission.refusals(table, decoded.partition, [key]).get(0)
        if reason is None:
            table.rows_of([key])
        return reason

    def _note(self, table: RowTable, decoded: Decoded, times: Integers, waiting: list[int]) -> None:
        """Write contributions into their cells; of several to one cell the last one stays."""
        if not waiting:
            return
        rows = table.rows_of([decoded.keys[index] for index in waiting])
        ticks, values = times[waiting] // self.ticks.width, decoded.values.reshape(-1, 2)[waiting]
        cells, columns = ticks % self.ticks.open, table.columns
        columns["tick"][rows, cells] = ticks
        columns["group"][rows, cells] = values[:, 0]
        columns["amount"][rows, cells] = values[:, 1]
        table.touch(rows)
        waiting.clear()

    def _summed(self, partition: int, table: RowTable, tick: int) -> Partial:
        columns, cell = table.columns, tick % self.ticks.open
        rows = np.flatnonzero(columns["tick"][:, cell] == tick)
        amounts = columns["amount"][rows, cell]
        sums = np.zeros(self.groups, dtype=np.int64)
        if self.sets:
            for group in range(self.groups):
                sums[group] = np.count_nonzero(amounts >> group & 1)
        else:
            np.add.at(sums, columns["group"][rows, cell], amounts)
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
