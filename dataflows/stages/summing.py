"""Sum what users contribute to a tick, and bring partitions to one tick where people move."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import ClassVar

import numpy as np

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.ticks import CLOSED, NO_TICK, TIME, UNTOLD, Clock, Ticks, told
from fugu.dataflows.stages.bounding import Bounding, cells_of
from fugu.dataflows.stages.log_entries import PartialSums, PartitionsMoved
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Array, Integers, State
from fugu.operators.personal_cap import Booleans, PersonalCap

COUNTED = "counted"
"""Names the column that remembers when people counted last, and how often."""


@dataclass(frozen=True)
class Summing(Bounding[PartialSums]):
    """Sum the contributions of one partition's users to `groups` groups: an amount to one of them,
    or one to each group of a set, if `sets` says so.

    When stream time has passed a tick, the contributions to it are summed by group. Whether a
    record is late or too far ahead depends on the times of records before it in its partition, and
    never on how they were cut into batches.

    Under a personal cap a person counts in a limited number of ticks of a period. Ticks close in
    order, so the earliest ones count, and whoever has counted often enough adds nothing. Nobody is
    told. A row is kept until the period of the last record in it is over, whatever its records
    held.
    """

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


@dataclass(frozen=True)
class BroughtTogether:
    """Hold the tables of all partitions, which stand at one tick, and entries for the log."""

    tables: dict[int, RowTable]
    entries: list[bytes]
    last: int | None


def brought_together(
    stage: Summing, tables: Mapping[int, RowTable], before: int, after: int
) -> BroughtTogether:
    """Close the same ticks in all partitions of `before`, and tell that there will be `after`.

    Partitions close ticks each by its own stream time, so the rows of a person who moves would come
    to ticks that the new partition has told already, or would be told twice. Hence all partitions
    close up to the last tick that one of them has closed, and tell what they hold of these. A
    contribution to a later tick moves with the row that holds it. So nobody counts twice in a tick,
    wherever records of one person come. What the merge is told is a function of the states of the
    partitions.

    Where one clock moves time, a wrong one may have begun it, far ahead, before it told a tick.
    Such a partition goes by the others, and drops what it holds of its own time.

    The given tables are used up.
    """
    clocks = [one.clock for one in tables.values() if CLOSED in one.clock]
    last = _common_tick(stage.ticks, clocks)
    all_at_one = bool(clocks) and all(told(one) is None and one[CLOSED] == last for one in clocks)
    begun, told_up_to = (dict(clocks[0]), None) if all_at_one else ({}, last)
    together, entries = dict[int, RowTable](), list[bytes]()
    for partition in range(before):
        table = tables[partition] if partition in tables else RowTable(stage.start)
        table.clock = table.clock or dict(begun)
        if told_up_to is not None:
            told_now = stage.close_up_to(partition, table, told_up_to)
            entries += [one.encoded() for one in told_now]
        together[partition] = stage.living(table)
    entries.append(PartitionsMoved(after, told_up_to).encoded())
    return BroughtTogether(together, entries, told_up_to)


def _common_tick(ticks: Ticks, clocks: Sequence[Clock]) -> int | None:
    """Return the last tick that a partition has told.

    A clock that has only begun time may be wrong, and decides nothing for other partitions. Where
    there are no others, those that are near the first one count.
    """
    standing = [tick for clock in clocks if (tick := told(clock)) is not None]
    if standing or not clocks:
        return max(standing, default=None)
    first = min(clocks, key=itemgetter(CLOSED))
    return max(clock[CLOSED] for clock in clocks if clock[CLOSED] <= ticks.last(first))
