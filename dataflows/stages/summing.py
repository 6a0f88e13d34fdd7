"""Sum what users contribute to a tick: each at most once, the latest record by offset counts.

When stream time has passed a tick, the contributions to it are summed by group. Whether a record is
late or too far ahead depends on the times of records before it in its partition, and never on how
they were cut into batches.

Under a personal cap a person counts in a limited number of ticks of a period. Ticks close in order,
so the earliest ones count, and whoever has counted often enough adds nothing. Nobody is told. A row
is kept until the period of the last record in it is over, whatever its records held.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.ticks import CLOSED, NO_TICK, TIME, UNTOLD, Ticks
from fugu.dataflows.stages.admission import Admission
from fugu.dataflows.stages.bounding import Bounding, cells_of
from fugu.dataflows.stages.partial_sums import PartialSums
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Array, Integers, State
from fugu.operators.personal_cap import Booleans, PersonalCap

COUNTED = "counted"
"""Names the column that remembers when people counted last, and how often."""


@dataclass(frozen=True)
class Summing(Bounding[PartialSums]):
    """Sum the contributions of one partition's users to `groups` groups: an amount to one of them,
    or one to each group of a set, if `sets` says so."""

    ticks: Ticks
    groups: int
    admission: Admission
    sets: bool = False
    cap: PersonalCap | None = None

    held: ClassVar[tuple[str, ...]] = ("group", "amount")

    def start(self, rows: int) -> State:
        """Return the columns of fresh rows."""
        return cells(self.ticks, rows, self.cap)

    def close_up_to(self, partition: int, table: RowTable, tick: int) -> list[PartialSums]:
        """Close all ticks up to this one, wherever stream time is, and return their sums.

        A partition that has not begun begins behind it. So does one whose time was begun further
        on, if it has told none of it: what it holds is of a wrong time.
        """
        wrong = table.clock.get(CLOSED, tick) > tick
        if wrong:
            table.clock = dict(self.ticks.back(table.clock))
        begun, time = CLOSED in table.clock, self.ticks.end(tick) + self.ticks.grace
        passed = self.ticks.passed(table.clock, time)
        table.clock.pop(UNTOLD, None)
        if wrong:
            self._forget(table)
        if begun:
            return self._close(partition, table, passed)
        return [self._skipped(partition, range(tick, tick + 1))]

    def living(self, table: RowTable) -> RowTable:
        """Return a table with the people who have been there in ticks that are open, or whom a cap
        remembers.

        Who moves stream time has to show that anew.
        """
        alive = RowTable(self.start)
        if CLOSED in table.clock:
            there = table.live("seen") > table.clock[CLOSED]
            alive.take_in(table, np.flatnonzero(there | self._in_use(table)))
            alive.clock = {n: table.clock[n] for n in (TIME, CLOSED, UNTOLD) if n in table.clock}
        return alive

    def _note(
        self, table: RowTable, rows: Integers, cells: Integers, times: Integers, values: Array
    ) -> dict[int, Reason]:
        """Write contributions into their cells, of several to one cell the last one."""
        groups, amounts = values.reshape(-1, 2).T
        columns, ticks = table.columns, times // self.ticks.width
        for name, column in (("tick", ticks), ("group", groups), ("amount", amounts)):
            columns[name][rows, cells] = column
        return {}

    def _of_tick(self, partition: int, table: RowTable, tick: int) -> list[PartialSums]:
        columns, cell = table.columns, tick % self.ticks.open
        rows = np.flatnonzero(columns["tick"][:, cell] == tick)
        if self.cap is not None:
            rows = self._counting(self.cap, table, rows, tick)
        amounts = columns["amount"][rows, cell]
        sums = np.zeros(self.groups, dtype=np.int64)
        if self.sets:
            for group in range(self.groups):
                sums[group] = np.count_nonzero(amounts >> group & 1)
        else:
            np.add.at(sums, columns["group"][rows, cell], amounts)
        groups = np.flatnonzero(sums)
        return [PartialSums(partition, tick, groups, sums[groups])]

    def _counting(self, cap: PersonalCap, table: RowTable, rows: Integers, tick: int) -> Integers:
        """Return those of the rows that count in a tick, and remember that they did."""
        counted, amounts = table.live(COUNTED), table.live("amount")[rows, tick % self.ticks.open]
        counts = cap.may_count(counted[rows], tick) & (amounts != 0)
        counted[rows] = cap.after(counted[rows], tick, counts)
        table.touch(np.flatnonzero(table.live("seen") >= tick))  # who was there, whatever was said
        counting: Integers = rows[counts]
        return counting

    def _in_use(self, table: RowTable) -> Booleans:
        """Keep rows until the period of the last record is over."""
        if self.cap is None:
            return super()._in_use(table)
        following = self.cap.period_of(table.clock[CLOSED] + 1)
        seen = table.live("seen")
        return np.asarray((seen != NO_TICK) & (seen // self.cap.ticks >= following))

    def _last_seen(self, table: RowTable) -> int:
        """Return the last closed tick under a cap, which remembers what people counted in it."""
        return super()._last_seen(table) if self.cap is None else table.clock[CLOSED]

    def _skipped(self, partition: int, ticks: range) -> PartialSums:
        nothing = np.zeros(0, dtype=np.int64)
        return PartialSums(partition, ticks[-1], nothing, nothing, skipped=len(ticks) - 1)


def cells(ticks: Ticks, rows: int, cap: PersonalCap | None = None) -> State:
    """Return the columns of fresh rows."""
    nothing = np.zeros((), dtype=np.int64)
    columns = cells_of(ticks, rows, {"group": nothing, "amount": nothing})
    return columns if cap is None else {**columns, COUNTED: cap.start(rows)}
