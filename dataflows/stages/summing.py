"""Sum what users contribute to a tick: each at most once, the latest record by offset counts.

When stream time has passed a tick, the contributions to it are summed by group. Whether a record is
late or too far ahead depends on the times of records before it in its partition, and never on how
they were cut into batches.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fugu.dataflows.base.batches import DeadLetters, Reason
from fugu.dataflows.base.ticks import CLOSED, NO_TICK, TIME, Passed, Ticks
from fugu.dataflows.stages.admission import Admission
from fugu.dataflows.stages.arrivals import Arrivals, claim
from fugu.dataflows.stages.partial_sums import PartialSums
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.column import selected
from fugu.operators.mechanism import Array, Integers, State
from fugu.operators.temporal.temporal_perturbation import End


@dataclass(frozen=True)
class Summed:
    """Hold the sums of ticks that are closed now, in order, and refused records."""

    partition: int
    partials: list[PartialSums] = field(default_factory=list)
    dead: DeadLetters = field(default_factory=DeadLetters)


@dataclass(frozen=True)
class Summing(Arrivals[PartialSums, Summed]):
    """Sum the contributions of one partition's users to `groups` groups: an amount to one of them,
    or one to each group of a set, if `sets` says so."""

    ticks: Ticks
    groups: int
    admission: Admission
    sets: bool = False

    def start(self, rows: int) -> State:
        """Return the columns of fresh rows."""
        return cells(self.ticks, rows)

    def holds(self, table: RowTable) -> bool:
        """Return whether people have been there in ticks that are open."""
        return CLOSED in table.clock and bool((table.live("seen") > table.clock[CLOSED]).any())

    def close_up_to(self, partition: int, table: RowTable, tick: int) -> list[PartialSums]:
        """Close all ticks up to this one, wherever stream time is, and return their sums.

        A partition that has not begun begins behind it.
        """
        begun, time = CLOSED in table.clock, self.ticks.end(tick) + self.ticks.grace
        passed = self.ticks.passed(table.clock, time)
        if begun:
            return self._close(partition, table, passed)
        return [_nobody(partition, tick)]

    def living(self, table: RowTable) -> RowTable:
        """Return a table with the people who have been there in ticks that are open.

        Who moves stream time has to show that anew.
        """
        alive = RowTable(self.start)
        if CLOSED in table.clock:
            alive.take_in(table, np.flatnonzero(table.live("seen") > table.clock[CLOSED]))
            alive.clock = {name: table.clock[name] for name in (TIME, CLOSED)}
        return alive

    def finish(self, partition: int, table: RowTable, end: End) -> Summed:
        """Return nothing: a tick that is open may still get contributions."""
        return Summed(partition)

    def _refusals(
        self, table: RowTable, partition: int, keys: Sequence[bytes], ticks: Integers
    ) -> dict[int, Reason]:
        """Give new keys rows, and return which get none.

        A row whose last record is in a tick that is closed is free: as long as somebody has a
        record in an open one, nobody else gets it.
        """
        new = len(set(selected(keys, table.unknown(keys))))
        most, refused = self.admission.max_keys, dict[int, Reason]()
        if len(table) + new <= most:
            return self.admission.refusals(table, partition, keys)
        seen, closed = table.live("seen"), table.clock[CLOSED]
        free = iter(np.flatnonzero(seen <= closed).tolist())
        for place, (key, tick) in enumerate(zip(keys, ticks.tolist(), strict=True)):
            reason = None if key in table else self.admission.refusal(partition, key)
            if reason is None and len(table) >= most and key not in table:
                row = next((row for row in free if seen[row] <= closed), None)
                if row is None:
                    reason = Reason.TOO_MANY_KEYS
                else:
                    table.recycle(row, key)
            if reason is not None:
                refused[place] = reason
                continue
            row = table.row_of(key)
            seen = table.live("seen")
            seen[row] = max(seen[row], tick)
        return refused

    def _cells(self, table: RowTable, rows: Integers, ticks: Integers) -> Integers:
        np.maximum.at(table.live("seen"), rows, ticks)
        table.touch(rows)
        cells, columns, closed = ticks % self.ticks.open, table.columns, table.clock[CLOSED]
        ahead = np.flatnonzero(ticks > closed + self.ticks.open)
        if len(ahead):
            held = columns["tick"][:, -1]
            claimed = claim(held, held[rows[ahead]] <= closed, rows[ahead], ticks[ahead])
            columns["group"][claimed, -1] = columns["amount"][claimed, -1] = 0
            cells[ahead] = np.where(held[rows[ahead]] == ticks[ahead], self.ticks.open, -1)
        return cells

    def _note(
        self, table: RowTable, rows: Integers, cells: Integers, ticks: Integers, values: Array
    ) -> dict[int, Reason]:
        """Write contributions into their cells, of several to one cell the last one."""
        groups, amounts = values.reshape(-1, 2).T
        columns = table.columns
        for name, column in (("tick", ticks), ("group", groups), ("amount", amounts)):
            columns[name][rows, cells] = column
        return {}

    def _close(self, partition: int, table: RowTable, passed: Passed) -> list[PartialSums]:
        """Return the sums of closed ticks; an empty one stands for all that are skipped."""
        partials = []
        if passed.anew:
            self._forget(table)
        for tick in passed.closed:
            partials.append(self._summed(partition, table, tick))
            self._come_to(table, tick + self.ticks.open)
        if passed.skipped:
            last, before = passed.skipped[-1], len(passed.skipped) - 1
            partials.append(_nobody(partition, last, skipped=before))
        return partials

    def _made(self, partition: int, closed: list[PartialSums], dead: DeadLetters) -> Summed:
        return Summed(partition, closed, dead.in_order())

    def _forget(self, table: RowTable) -> None:
        """Drop all that people contributed; no tick was told of it."""
        rows = np.arange(len(table))
        for name in ("tick", "seen"):
            table.live(name)[rows] = NO_TICK
        table.touch(rows)

    def _come_to(self, table: RowTable, tick: int) -> None:
        """Move what users who are ahead contribute to this tick to the cell of the one closed."""
        columns, before, after = table.columns, self.ticks.open, tick % self.ticks.open
        rows = np.flatnonzero(columns["tick"][:, before] == tick)
        if len(rows):
            for name in ("tick", "group", "amount"):
                columns[name][rows, after] = columns[name][rows, before]
            columns["tick"][rows, before] = NO_TICK
            table.touch(rows)

    def _summed(self, partition: int, table: RowTable, tick: int) -> PartialSums:
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
        return PartialSums(partition, tick, groups, sums[groups])


def _nobody(partition: int, tick: int, skipped: int = 0) -> PartialSums:
    nothing = np.zeros(0, dtype=np.int64)
    return PartialSums(partition, tick, nothing, nothing, skipped)


def cells(ticks: Ticks, rows: int) -> State:
    """Return the columns of fresh rows.

    There is a cell for each tick that may be open, and one for a tick that stream time has not come
    to; it belongs to the tick that it names. `seen` is the last tick in which there was a record,
    whatever it held.
    """
    shape = (rows, ticks.open + 1)
    return {
        "tick": np.full(shape, NO_TICK),
        "group": np.zeros(shape, dtype=np.int64),
        "amount": np.zeros(shape, dtype=np.int64),
        "seen": np.full(rows, NO_TICK),
    }
